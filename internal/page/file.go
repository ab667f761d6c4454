package page

import (
	"bytes"

	"github.com/adkreplay/adkreplay/internal/wholefile"
)

// WriteFile writes the page to a file, as a whole or not at all, and also returns its size in
// bytes. The page contains the traces, so only those may read it who may read each of the traces,
// and of the journals, that is a file.
func (p *Page) WriteFile(path string) (written Written, size int, err error) {
	var content bytes.Buffer
	if written, err = p.Write(&content); err != nil {
		return written, 0, err
	}
	var names []string
	for _, source := range p.Sources {
		names = append(names, source.Name)
	}
	for _, recording := range p.Recordings {
		for _, journal := range recording.Journals {
			names = append(names, journal.Name)
		}
	}
	return written, content.Len(), wholefile.WriteOf(path, content.Bytes(), names)
}
