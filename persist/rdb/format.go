package rdb

import (
	"strconv"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
)

// Opcodes, which stand where a type would.
const (
	opFunctionOld = 246 // of release candidates of Redis 7.0
	opFunction    = 245
	opModuleAux   = 247
	opIdle        = 248
	opFreq        = 249
	opAux         = 250
	opResizeDB    = 251
	opExpireMs    = 252
	opExpire      = 253
	opSelectDB    = 254
	opEOF         = 255
)

// Types of values by their encoding in the file.
const (
	typeString         = 0
	typeList           = 1
	typeSet            = 2
	typeZSet           = 3
	typeHash           = 4
	typeZSet2          = 5
	typeModuleOld      = 6
	typeModule         = 7
	typeHashZipmap     = 9
	typeListZiplist    = 10
	typeSetIntset      = 11
	typeZSetZiplist    = 12
	typeHashZiplist    = 13
	typeListQuicklist  = 14
	typeStream         = 15
	typeHashListpack   = 16
	typeZSetListpack   = 17
	typeListQuicklist2 = 18
	typeStream2        = 19
	typeSetListpack    = 20 // from version 11 on
	typeStream3        = 21 // from version 11 on
)

// An encoding is how values of a type are read.
type encoding struct {
	kind
	pass func(f *validator) error // validates a value; nil: its end cannot be found
	pack bool                     // the value is a pack that Redis keeps, however long its elements are
}

// encodings has every type that is known, by its number. types, in encode.go, tells which are written.
var encodings = [256]encoding{
	typeString:         {stringKind, func(f *validator) error { return f.src.passText() }, false},
	typeList:           {listKind, counted(typeList, 1, (*source).passText), false},
	typeSet:            {setKind, counted(typeList, 1, (*source).passText), false},
	typeZSet:           {zsetKind, counted(typeZSet, 1, (*source).passDecimalEntry), false},
	typeHash:           {hashKind, counted(typeList, 2, (*source).passPair), false},
	typeZSet2:          {zsetKind, (*validator).entries, false},
	typeModuleOld:      {moduleKind, nil, false},
	typeModule:         {moduleKind, (*validator).module, false},
	typeHashZipmap:     {hashKind, packed((*validator).zipmap, typeList, 2), false},
	typeListZiplist:    {listKind, packed((*validator).ziplist, typeListZiplist, 1), false},
	typeSetIntset:      {setKind, packed((*validator).intset, typeSetIntset, 1), false},
	typeZSetZiplist:    {zsetKind, packed((*validator).ziplist, typeZSetZiplist, 2), true},
	typeHashZiplist:    {hashKind, packed((*validator).ziplist, typeListZiplist, 2), true},
	typeListQuicklist:  {listKind, nodesOf(packed((*validator).ziplist, typeListZiplist, 1)), false},
	typeStream:         {streamKind, stream(1), false},
	typeHashListpack:   {hashKind, packed((*validator).listpack, typeListQuicklist2, 2), true},
	typeZSetListpack:   {zsetKind, packed((*validator).zsetListpack, typeZSetListpack, 2), true},
	typeListQuicklist2: {listKind, nodesOf((*validator).node), false},
	typeStream2:        {streamKind, stream(2), false},
	typeSetListpack:    {setKind, packed((*validator).listpack, typeListQuicklist2, 1), false},
	typeStream3:        {streamKind, stream(3), false},
}

// A kind is what is made of a value that is read.
type kind struct {
	name string
	read func(d *decoder, e *encoding) (store.Value, error) // nil: not supported
}

var (
	stringKind = kind{"string", (*decoder).string}
	listKind   = kind{"list", collection(func(b *builder) { b.list, b.add = &list.List{}, addToList })}
	setKind    = kind{"set", collection(func(b *builder) { b.set, b.add = &set.Set{}, addToSet })}
	zsetKind   = kind{"sorted set", collection(func(*builder) {})}
	hashKind   = kind{"hash", collection(func(b *builder) { b.hash = &hash.Hash{} })}
	streamKind = kind{name: "stream"}
	moduleKind = kind{name: "module type"}
)

const (
	containerPlain     = 1 // a quicklist node of one element
	containerPacked    = 2
	listpackHeader     = 6
	ziplistHeader      = 10
	intsetHeader       = 8
	packEnd            = 0xff
	countUnknown       = 0xffff // the count in a pack's header when it does not fit
	magic              = "REDIS"
	headerSize         = len(magic) + 4
	checksumSize       = 8
	oldestWithChecksum = 5
)

// kindOf returns a type's kind for messages.
func kindOf(typ byte) string {
	if e := &encodings[typ]; e.name != "" {
		return e.name
	}
	return "type " + strconv.Itoa(int(typ))
}
