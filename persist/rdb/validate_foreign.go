package rdb

// This file skips unsupported values so that the rest of a file can be read. It checks
// only their lengths.

// module skips a value of a module.
func (f *validator) module() error { return each(f.passCount, f.moduleData) }

// each runs steps until one fails.
func each(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (f *validator) passCount() error {
	_, err := f.src.count()
	return err
}

// times reads a length and runs step that many times.
func (f *validator) times(step func() error) error {
	n, err := f.src.count()
	for i := uint64(0); i < n && err == nil; i++ {
		err = step()
	}
	return err
}

func (f *validator) bytes(n int64) func() error { return func() error { return f.src.skip(n) } }

const (
	streamID   = 16 // bytes of an entry's ID
	streamTime = 8
)

// stream returns the function that skips a stream of a version: nodes with their keys,
// counters, and groups with their pending entries and consumers.
func stream(version int) func(*validator) error {
	return func(f *validator) error { return f.stream(version) }
}

func (f *validator) stream(version int) error {
	text, count := f.src.passText, f.passCount
	steps := []func() error{
		func() error { return f.times(func() error { return each(text, text) }) },
		count, count, count, // entries, the last ID
	}
	group := []func() error{text, count, count} // name, the last ID delivered
	consumer := []func() error{text, f.bytes(streamTime)}
	if version >= 2 {
		// The first ID, the highest deleted, entries added.
		steps = append(steps, count, count, count, count, count)
		group = append(group, count) // entries read
	}
	if version >= 3 {
		consumer = append(consumer, f.bytes(streamTime))
	}
	consumer = append(consumer, func() error { return f.times(f.bytes(streamID)) })
	group = append(group,
		func() error {
			return f.times(func() error { return each(f.bytes(streamID), f.bytes(streamTime), count) })
		},
		func() error { return f.times(func() error { return each(consumer...) }) })
	return each(append(steps, func() error { return f.times(func() error { return each(group...) }) })...)
}

// Opcodes within a module's value.
const (
	moduleEOF = iota
	moduleSigned
	moduleUnsigned
	moduleFloat
	moduleDouble
	moduleText
)

// moduleData skips what a module wrote.
func (f *validator) moduleData() error {
	for {
		what, err := f.src.count()
		if err != nil {
			return err
		}
		switch what {
		case moduleEOF:
			return nil
		case moduleSigned, moduleUnsigned:
			err = f.passCount()
		case moduleFloat:
			err = f.src.skip(4)
		case moduleDouble:
			err = f.src.skip(8)
		case moduleText:
			err = f.src.passText()
		default:
			err = corrupt(badModule)
		}
		if err != nil {
			return err
		}
	}
}

// moduleName decodes the name of a module's type: nine characters of six bits, above
// ten bits of a version.
func moduleName(id uint64) string {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	name := make([]byte, 9)
	id >>= 10
	for i := len(name) - 1; i >= 0; i-- {
		name[i] = characters[id&63]
		id >>= 6
	}
	return string(name)
}
