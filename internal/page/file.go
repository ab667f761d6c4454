package page

import (
	"bytes"
	"io/fs"
	"os"

	"github.com/adkreplay/adkreplay/internal/wholefile"
)

// WriteFile writes the page into a file as a whole, and gives its size in bytes beside what
// Write gives. The page holds the traces: it may be read by those alone who may read each of
// them that is a file.
func (p *Page) WriteFile(path string) (entries []Entry, size int, err error) {
	var content bytes.Buffer
	if entries, err = p.Write(&content); err != nil {
		return entries, 0, err
	}
	if private := p.mostPrivate(); private != "" {
		err = wholefile.WriteBeside(path, content.Bytes(), private)
	} else {
		err = wholefile.Write(path, content.Bytes())
	}
	return entries, content.Len(), err
}

// mostPrivate is the source that the fewest may read, empty where all that are files may be
// read by everybody.
func (p *Page) mostPrivate() (path string) {
	const others = fs.FileMode(0o044)
	least := others
	for _, source := range p.Sources {
		info, err := os.Stat(source.Name)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&others < least {
			path, least = source.Name, info.Mode().Perm()&others
		}
	}
	return path
}
