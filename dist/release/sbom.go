package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// materials returns a CycloneDX document of what a binary is made of: the modules that
// the linker has recorded in it, and the standard library.
func materials(
	info *debug.BuildInfo, binary, version string, digest [sha256.Size]byte, licences map[string]string,
) ([]byte, error) {
	if version == "" {
		version = info.Main.Version
	}
	main := component(info.Main.Path, version, licences)
	main.Type, main.Name = cdx.ComponentTypeApplication, binary
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", digest)}}

	parts := []cdx.Component{component("std", strings.TrimPrefix(info.GoVersion, "go"), licences)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component(m.Path, m.Version, licences))
	}
	refs := make([]string, 0, len(parts))
	for _, p := range parts {
		refs = append(refs, p.BOMRef)
	}
	bom := cdx.NewBOM()
	// Not a random number: the same binary has the same document.
	bom.SerialNumber = uuidOf(digest[:16])
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	encoder := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// uuidOf returns 16 bytes as a UUID of RFC 9562's version 8, whose content is free.
func uuidOf(b []byte) string {
	id := bytes.Clone(b)
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func component(path, version string, licences map[string]string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	out := cdx.Component{
		BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url,
	}
	if licence := licences[path]; licence != "" {
		out.Licenses = &cdx.Licenses{{Expression: licence}}
	}
	return out
}

// readLicences returns the licences of the table in docs/dependencies.md as SPDX
// expressions, and that of the standard library.
func readLicences(page string) (map[string]string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"std": "BSD-3-Clause"}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "/") || strings.HasPrefix(cells[1], "---") {
			continue
		}
		out[strings.TrimSpace(cells[1])] = strings.ReplaceAll(strings.TrimSpace(cells[2]), ", ", " AND ")
	}
	return out, nil
}
