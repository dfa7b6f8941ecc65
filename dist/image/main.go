package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const usage = `Usage: image -version V -config FILE -layout DIR [-tarball FILE] ARCH=BINARY ...

Writes an OCI layout with an image for each linux/ARCH and, for docker load, the
first of them as an archive.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "", "`version` of the server")
	config := flags.String("config", "", "configuration `file` of the image")
	dir := flags.String("layout", "", "`directory` for the OCI layout")
	archive := flags.String("tarball", "", "`file` for docker load")
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || *dir == "" || *config == "" {
		flags.Usage()
		return flag.ErrHelp
	}
	text, err := os.ReadFile(*config)
	if err != nil {
		return err
	}
	var sources []source
	for _, arg := range flags.Args() {
		arch, path, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is no ARCH=BINARY", arg)
		}
		binary, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sources = append(sources, source{binary, text, *version, arch})
	}
	return write(sources, *dir, *archive)
}

// write replaces the layout, and the archive if its name is not empty.
func write(sources []source, dir, archive string) error {
	all, err := index(sources)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if _, err := layout.Write(dir, all); err != nil {
		return err
	}
	digest, err := all.Digest()
	if err != nil {
		return err
	}
	fmt.Println(dir, digest)
	if archive == "" {
		return nil
	}
	image, err := sources[0].image()
	if err != nil {
		return err
	}
	tag, err := name.NewTag("zlimit:" + strings.ReplaceAll(sources[0].version, "+", "-"))
	if err != nil {
		return err
	}
	return tarball.WriteToFile(archive, tag, image)
}
