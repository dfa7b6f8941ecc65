package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"text/template"
)

// installText says how to install what was built. Files are named, not packages: of a name alone a package
// manager asks its registry.
var installText = template.Must(template.New("").Parse(`
The files are in {{.Out}}; SHA256SUMS there has their checksums.

Python:
  pip install --force-reinstall '{{.Wheel}}'

Node:
  npm install {{.Save}}{{range .Tarballs}} \
    '{{.}}'{{end}}

Java, in pom.xml (after another build first: rm -r ~/.m2/repository/io/zlimit):
  <repositories>
    <repository>
      <id>zlimit-built</id>
      <url>{{.Repository}}</url>
    </repository>
  </repositories>
  <dependencies>
    <dependency>
      <groupId>{{.Group}}</groupId>
      <artifactId>{{.Artifact}}</artifactId>
      <version>{{.Version}}</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
`))

// printInstall prints where the packages are and how to install each on this machine, if there are packages
// for it and all languages are built.
func (f *frame) printInstall(w io.Writer) error {
	out, err := filepath.Abs(f.out)
	if err != nil {
		return err
	}
	this := platform{runtime.GOOS, runtime.GOARCH}
	version := pythonVersion(f.version)
	wheel := filepath.Join(out, "python", "zlimit-"+version+"-py3-none-"+wheelTags[this]+".whl")
	if _, err := os.Stat(wheel); err != nil {
		_, err := fmt.Fprintf(w, "\nThe files are in %s; SHA256SUMS there has their checksums.\n", out)
		return err
	}
	// npm refuses the binary of another platform, unless it is optional.
	save := "--save-dev"
	if len(f.platforms) > 1 {
		save = "--save-optional"
	}
	tarballs := []string{filepath.Join(out, "node", "zlimit-"+f.version+".tgz")}
	for _, p := range f.platforms {
		tarballs = append(tarballs,
			filepath.Join(out, "node", "zlimit-"+npmNames.platform(p)+"-"+f.version+".tgz"))
	}
	return installText.Execute(w, map[string]any{
		"Out": out, "Wheel": wheel, "Save": save, "Tarballs": tarballs, "Version": f.version,
		"Repository": fileURL(filepath.Join(out, "java")), "Group": mavenGroup, "Artifact": javaCode,
	})
}
