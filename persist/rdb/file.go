package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store"
)

// A file is a snapshot being read.
type file struct {
	validator *validator
	decoder   *decoder // nil: validate only
	options   ReadOptions
	handler   Handler
	sum       Summary

	db         uint64
	expireAtMs int64 // of the next key; 0: none

	at       place
	refused  error // the handler's error
	reported int64 // offset of the last Progress
	note     func(format string, args ...any)
}

// A place says what a file is being read for.
type place struct {
	doing string // in redis-check-rdb's words
	typ   byte
	key   []byte
	inKey bool
}

// fault returns the error of a file that is damaged at the place.
func (p *place) fault(offset int64, db uint64, err error) error {
	return &Error{
		Offset: offset, DB: db, Key: string(p.key), HasKey: p.inKey, Doing: p.doing, Type: p.typ,
		Err: convert(err),
	}
}

// Steps of reading, as redis-check-rdb names them.
const (
	doingStart    = "start"
	doingType     = "read-type"
	doingExpire   = "read-expire"
	doingLength   = "read-len"
	doingKey      = "read-key"
	doingValue    = "read-object-value"
	doingChecksum = "check-sum"
	doingAux      = "read-aux"
	doingModule   = "read-module-aux"
	doingFunction = "read-functions"
)

// errEnd ends reading without an error.
var errEnd = errors.New("end of file")

func newFile(f io.ReaderAt, size int64, o ReadOptions, h Handler) *file {
	return &file{
		validator: &validator{src: *newSource(f, size)}, options: o, handler: h,
		note: func(string, ...any) {},
	}
}

// newDecodingFile is newFile for a file whose keys go to the handler.
func newDecodingFile(f io.ReaderAt, size int64, o ReadOptions, h Handler) *file {
	out := newFile(f, size, o, h)
	out.decoder = newDecoder(o.Limits)
	out.decoder.validator.src = out.validator.src
	out.validator = &out.decoder.validator
	return out
}

// read reads the whole file.
func (f *file) read() (Summary, error) {
	f.at.doing = doingStart
	err := f.header()
	for err == nil {
		f.at = place{doing: doingType, key: f.at.key[:0]}
		err = f.next()
	}
	if errors.Is(err, errEnd) {
		err = f.end()
	}
	f.sum.End = f.validator.src.offset()
	switch {
	case f.refused != nil:
		return f.sum, f.refused
	case err == nil:
		f.progress(0)
		return f.sum, nil
	}
	return f.sum, f.at.fault(f.sum.End, f.db, err)
}

// progress reports progress of at least so many bytes.
func (f *file) progress(atLeast int64) {
	if done := f.validator.src.offset(); f.handler.Progress != nil && done-f.reported >= atLeast {
		f.reported = done
		f.handler.Progress(done, f.validator.src.size)
	}
}

func (f *file) header() error {
	b, err := f.validator.src.read(int64(headerSize))
	if err != nil {
		return err
	}
	if string(b[:len(magic)]) != magic {
		return corrupt(badMagic)
	}
	for _, ch := range b[len(magic):] {
		if ch < '0' || ch > '9' {
			return corrupt(badMagic)
		}
		f.sum.Version = 10*f.sum.Version + int(ch-'0')
	}
	if f.sum.Version < 1 || f.sum.Version > dump.Newest {
		return fmt.Errorf("version %d of the format is %w", f.sum.Version, ErrVersion)
	}
	return nil
}

// next reads an opcode with its arguments, or a key.
func (f *file) next() error {
	const often = 1 << 20
	f.progress(often)
	typ, err := f.validator.src.byte()
	if err != nil {
		return err
	}
	if op := opcodes[typ]; op != nil {
		return op(f)
	}
	return f.keyOf(typ)
}

var opcodes = [256]func(*file) error{
	opEOF:         func(*file) error { return errEnd },
	opSelectDB:    (*file).selectDB,
	opResizeDB:    (*file).resizeDB,
	opExpire:      (*file).expire,
	opExpireMs:    (*file).expireMs,
	opIdle:        (*file).idle,
	opFreq:        (*file).freq,
	opAux:         (*file).aux,
	opModuleAux:   (*file).moduleAux,
	opFunction:    (*file).function,
	opFunctionOld: (*file).functionOld,
}

func (f *file) selectDB() (err error) {
	f.at.doing = doingLength
	if f.db, err = f.validator.src.count(); err == nil {
		f.note("Selecting DB ID %d", f.db)
	}
	return err
}

func (f *file) resizeDB() error {
	f.at.doing = doingLength
	keys, err := f.validator.src.count()
	if err != nil {
		return err
	}
	expiring, err := f.validator.src.count()
	if err == nil && f.decoder != nil && f.handler.Sizes != nil && f.db < store.Databases {
		f.handler.Sizes(int(f.db), keys, expiring)
	}
	return err
}

func (f *file) expire() error {
	f.at.doing = doingExpire
	b, err := f.validator.src.read(4)
	if err == nil {
		f.deadline(int64(int32(binary.LittleEndian.Uint32(b))) * 1000)
	}
	return err
}

func (f *file) expireMs() error {
	f.at.doing = doingExpire
	b, err := f.validator.src.read(8)
	if err == nil {
		f.deadline(int64(binary.LittleEndian.Uint64(b)))
	}
	return err
}

// deadline sets the deadline of the next key. In Redis -1 is none, and 0 is long past.
func (f *file) deadline(atMs int64) {
	switch f.expireAtMs = atMs; atMs {
	case -1:
		f.expireAtMs = 0
	case 0:
		f.expireAtMs = -1
	}
}

func (f *file) idle() error {
	_, err := f.validator.src.count()
	return err
}

func (f *file) freq() error {
	_, err := f.validator.src.byte()
	return err
}

func (f *file) aux() error {
	f.at.doing = doingAux
	b, err := f.validator.src.text()
	if err != nil {
		return err
	}
	name := string(b)
	if b, err = f.validator.src.text(); err != nil {
		return err
	}
	f.note("AUX FIELD %s = '%s'", name, b)
	if f.decoder != nil && f.handler.Aux != nil {
		return f.handlerError(f.handler.Aux(name, string(b)))
	}
	return nil
}

// handlerError records an error of the handler, to tell it from faults of the file.
func (f *file) handlerError(err error) error {
	f.refused = err
	return err
}

func (f *file) moduleAux() error {
	f.at.doing = doingModule
	id, err := f.validator.src.count()
	if err != nil {
		return err
	}
	if !f.options.Skip {
		return fmt.Errorf("%w: data of the module type %q, which is not held here", ErrUnsupported,
			moduleName(id))
	}
	return each(f.validator.passCount, f.validator.passCount, f.validator.moduleData)
}

func (f *file) function() error {
	f.at.doing = doingFunction
	code, err := f.validator.src.text()
	if err == nil && f.decoder != nil && f.handler.Function != nil {
		return f.handlerError(f.handler.Function(string(code)))
	}
	return err
}

func (f *file) functionOld() error {
	return fmt.Errorf("%w: functions as release candidates of Redis 7.0 wrote them", ErrUnsupported)
}

// keyOf reads a key with a value of the type.
func (f *file) keyOf(typ byte) error {
	f.at.doing, f.at.typ = doingKey, typ
	key, err := f.validator.src.text()
	if err != nil {
		return err
	}
	f.at.key = append(f.at.key[:0], key...)
	f.at.doing, f.at.inKey = doingValue, true
	expireAtMs := f.expireAtMs
	f.expireAtMs = 0
	f.sum.Keys++
	if expireAtMs != 0 {
		f.sum.Expiring++
	}
	if encodings[typ].read == nil || f.db >= store.Databases {
		return f.foreign(typ)
	}
	if f.decoder == nil {
		err = encodings[typ].pass(f.validator)
	} else {
		var value store.Value
		if value, err = f.decoder.value(typ); err == nil && f.handler.Key != nil {
			return f.handlerError(f.handler.Key(int(f.db), f.at.key, expireAtMs, value))
		}
	}
	if errors.Is(err, errEmpty) { // Redis skips such a key, too
		f.skipped("nothing: its collection is empty")
		return nil
	}
	return err
}

// foreign refuses or skips an unsupported key.
func (f *file) foreign(typ byte) error {
	what, e := kindOf(typ), &encodings[typ]
	switch {
	case typ == typeModule:
		// The module's name is at the front of the value.
		src := &f.validator.src
		if err := src.ensure(min(longestLength, src.left())); err != nil {
			return err
		}
		r := dump.Reader{Rest: src.window[src.pos:]}
		if id, _, err := r.Length(); err == nil {
			what = fmt.Sprintf("%s %q", what, moduleName(id))
		}
	case e.read != nil:
		what = fmt.Sprintf("key of "+notADatabase, f.db)
	}
	if !f.options.Skip || e.pass == nil {
		return fmt.Errorf("%w: "+notHeld, ErrUnsupported, "a "+what)
	}
	take, units := f.validator.emit, f.validator.units
	f.validator.emit, f.validator.units = nil, nil
	defer func() { f.validator.emit, f.validator.units = take, units }()
	err := e.pass(f.validator)
	if err == nil || errors.Is(err, errEmpty) {
		f.skipped("a " + what)
		return nil
	}
	return err
}

func (f *file) skipped(what string) {
	f.sum.Skipped++
	if f.decoder != nil && f.handler.Skipped != nil {
		f.handler.Skipped(int(min(f.db, math.MaxInt32)), f.at.key, what)
	}
}

// end reads and checks the checksum.
func (f *file) end() error {
	f.at.doing = doingChecksum
	src := &f.validator.src
	if f.sum.Version < oldestWithChecksum {
		return nil
	}
	want := src.checksum()
	b, err := src.read(checksumSize)
	if err != nil {
		return err
	}
	got := binary.LittleEndian.Uint64(b)
	if f.sum.Checksum = got != 0; f.sum.Checksum && got != want && !f.options.NoChecksum {
		return corrupt(badChecksum)
	}
	return nil
}
