package tracetest

import (
	"compress/gzip"
	"encoding/ascii85"
	"fmt"
	"io"
	"strings"
)

// Unpacked returns the content of the element with an id in a page, as browsers unpack it: contents
// is the document that describes the page, and trace-0 the lines of the first trace. The error says
// that there is no such element, or what is wrong with it.
func Unpacked(page, id string) (string, error) {
	_, rest, found := strings.Cut(page, ` id="`+id+`">`)
	if !found {
		return "", fmt.Errorf("page: it has no element %s", id)
	}
	packed, _, _ := strings.Cut(rest, "</script>")
	var in io.Reader = ascii85.NewDecoder(strings.NewReader(strings.NewReplacer("v", "<", "w", "&").Replace(packed)))
	for range 2 {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return "", fmt.Errorf("page: %s: %w", id, err)
		}
		in = unzipped
	}
	text, err := io.ReadAll(in)
	return string(text), err
}
