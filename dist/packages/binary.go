package main

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
)

var errDynamic = errors.New("it needs a dynamic linker, so that it would not run on every Linux")

// checkBinary checks that a binary is an executable for a platform and, on Linux, static: it
// then runs with glibc, with musl and without either.
func checkBinary(content []byte, p platform) error {
	if p.system == "darwin" {
		f, err := macho.NewFile(bytes.NewReader(content))
		if err != nil {
			return err
		}
		want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[p.arch]
		if f.Cpu != want || f.Type != macho.TypeExec {
			return fmt.Errorf("it is %v for %v", f.Type, f.Cpu)
		}
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return err
	}
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[p.arch]
	if f.Machine != want || f.Type != elf.ET_EXEC {
		return fmt.Errorf("it is %v for %v", f.Type, f.Machine)
	}
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			return errDynamic
		}
	}
	return nil
}
