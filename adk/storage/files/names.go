package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
)

const (
	ending = ".json"
	// digits is how many digits a position has, so that names sort by position.
	digits = 12
	// maxSegment is the length of a folder's name from which on it is shortened and gets a hash;
	// shownSegment is how much of the escaped name is left then.
	maxSegment, shownSegment = 200, 100
)

// folderOf returns the folder with the files of a place.
func folderOf(place storage.Place) string {
	return path.Join(escaped(place.Tenant), escaped(place.Session), string(place.Collection))
}

// escaped returns a name in the form of a folder's name, on any system: lowercase letters, digits
// and dashes stay, other bytes become percent escapes, and a long name is cut and gets its hash.
func escaped(name string) string {
	switch name {
	case "":
		return "-"
	case "-":
		return "%2d"
	}
	var b strings.Builder
	for _, c := range []byte(name) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	if b.Len() > maxSegment {
		sum := sha256.Sum256([]byte(name))
		return b.String()[:shownSegment] + "~" + hex.EncodeToString(sum[:])
	}
	return b.String()
}

// fileOf returns the file of a record.
func fileOf(place storage.Place, e entry) string {
	return path.Join(folderOf(place), fmt.Sprintf("%0*d-%x%s", digits, e.position, e.key, ending))
}

// parsedName parses the name of a record's file.
func parsedName(name string) (e entry, ok bool) {
	position, hash, _ := strings.Cut(strings.TrimSuffix(name, ending), "-")
	key, err := hex.DecodeString(hash)
	if err != nil || len(key) != len(e.key) {
		return e, false
	}
	copy(e.key[:], key)
	e.position, err = strconv.ParseInt(position, 10, 64)
	return e, err == nil && e.position > 0 && len(position) >= digits
}

// footer is the second line of a file.
type footer struct {
	Digest     string    `json:"digest"`
	TurnID     string    `json:"turnId,omitempty"`
	DispatchID string    `json:"dispatchId,omitempty"`
	WrittenAt  time.Time `json:"writtenAt"`
}

// content returns the content of a row's file.
func content(row storage.Row) []byte {
	second, err := json.Marshal(footer{row.Digest.String(), row.TurnID, row.DispatchID, time.Now().UTC().Truncate(time.Millisecond)})
	if err != nil {
		panic(err) // texts and a time always have JSON
	}
	return bytes.Join([][]byte{row.Body, second, nil}, []byte("\n"))
}

// read reads a file. If it cannot be what was written, the row's digest does not match its body, so
// that the reader of the record reports it as corrupt.
func (d *Dir) read(name string, key storage.KeyHash) (storage.Row, error) {
	data, err := d.root.ReadFile(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return storage.Row{}, &adk.Error{Code: adk.E_STORAGE_CORRUPT, Message: fmt.Sprintf("the file %.160q is gone", name)}
	}
	if err != nil {
		return storage.Row{}, err
	}
	row := storage.Row{Key: key, Body: data}
	body, second, _ := bytes.Cut(data, []byte("\n"))
	var said footer
	if json.Unmarshal(second, &said) != nil {
		return row, nil
	}
	digest, err := hex.DecodeString(said.Digest)
	if err != nil || len(digest) != len(row.Digest) {
		return row, nil
	}
	copy(row.Digest[:], digest)
	row.Body = body
	return row, nil
}
