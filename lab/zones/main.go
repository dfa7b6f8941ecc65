// Command zones writes calendar/zones.bin, to standard output: the time zones of a release of the IANA
// database, from a directory of compiled files (RFC 9636). The same files give the same bytes. Package
// calendar describes the format.
package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

func main() {
	dir := flag.String("dir", "", "the directory of zones, such as /usr/share/zoneinfo")
	release := flag.String("release", "", "the release that they are of, such as 2026f")
	flag.Parse()
	data, err := pack(os.DirFS(*dir), *release)
	if err == nil {
		_, err = os.Stdout.Write(data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "zones:", err)
		os.Exit(1)
	}
}

// left lists what directories of zones have besides the zones: copies with another treatment of leap seconds,
// the system's own zone, and two that are no place.
var left = []string{"posix", "right", "localtime", "posixrules", "Factory"}

// pack returns the file of the zones in a directory.
func pack(dir fs.FS, release string) ([]byte, error) {
	if release == "" {
		return nil, errors.New("no release is given")
	}
	var text bytes.Buffer
	var bodies []byte
	offsets := make(map[string]int)
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(left, name) && d.IsDir():
			return fs.SkipDir
		case slices.Contains(left, name) || d.IsDir():
			return nil
		}
		data, err := fs.ReadFile(dir, name)
		if err != nil || !bytes.HasPrefix(data, []byte("TZif")) {
			return err
		}
		body, err := second(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		offset, known := offsets[string(body)]
		if !known {
			if err := compare(name, data, body); err != nil {
				return err
			}
			offset = len(bodies)
			offsets[string(body)] = offset
			bodies = append(bodies, body...)
		}
		fmt.Fprintln(&text, name, offset, len(body))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(offsets) == 0 {
		return nil, errors.New("the directory has no zones")
	}
	text.WriteString("\n")
	text.Write(bodies)
	out := bytes.NewBufferString(release + "\n")
	w, err := zlib.NewWriterLevel(out, zlib.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

const (
	headerLen = 44
	countsAt  = 20
	versionAt = 4
)

// second returns the second half of a file.
func second(data []byte) ([]byte, error) {
	if len(data) < headerLen || data[versionAt] < '2' {
		return nil, errors.New("no 64-bit data")
	}
	skip := uint64(headerLen)
	for i, size := range []uint64{1, 1, 8, 5, 6, 1} { // bytes of what the header counts, in its order
		skip += size * uint64(binary.BigEndian.Uint32(data[countsAt+4*i:]))
	}
	if skip > uint64(len(data)) {
		return nil, errors.New("cut short")
	}
	return data[skip:], nil
}

// compare makes sure that Go reads the same from the second half of a file as from all of it.
func compare(name string, data, body []byte) error {
	whole, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	alone := append(make([]byte, headerLen), body...)
	copy(alone, data[:versionAt+1])
	part, err := time.LoadLocationFromTZData(name, alone)
	if err != nil {
		return fmt.Errorf("%s without 32-bit data: %w", name, err)
	}
	for at := time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2110; {
		a, b := at.In(whole), at.In(part)
		_, offset := a.Zone()
		_, offsetPart := b.Zone()
		_, end := a.ZoneBounds()
		_, endPart := b.ZoneBounds()
		if offset != offsetPart || !end.Equal(endPart) {
			return fmt.Errorf("%s without 32-bit data: %v is %v", name, a, b)
		}
		switch {
		case end.IsZero():
			return nil
		case end.After(at):
			at = end
		default: // in package time no period reaches the end of a leap year
			at = at.AddDate(0, 0, 1)
		}
	}
	return nil
}
