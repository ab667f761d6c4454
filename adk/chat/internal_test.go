package chat

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// RTY-6: an answer is read up to its bound; an answer of exactly that size is accepted, a longer one is not.
func TestBounded(t *testing.T) {
	for name, c := range map[string]struct {
		long int
		err  error
	}{
		"less":     {4, nil},
		"as much":  {5, nil},
		"too much": {6, errTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(&bounded{from: strings.NewReader(strings.Repeat("x", c.long)), left: 5})
			assert.Equal(t, c.err, err)
			if err == nil {
				assert.Len(t, got, c.long)
			}
		})
	}
}
