package page

import (
	"bytes"

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
	var names []string
	for _, source := range p.Sources {
		names = append(names, source.Name)
	}
	return entries, content.Len(), wholefile.WriteOf(path, content.Bytes(), names)
}
