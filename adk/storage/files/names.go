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
	// digits is how many digits a position has, so that names stand in its order.
	digits = 12
	// maxSegment is how long a folder's name is before its end becomes a hash, and
	// shownSegment how much of the escaped name is then left.
	maxSegment, shownSegment = 200, 100
)

// folderOf is where the files of a place are.
func folderOf(place storage.Place) string {
	return path.Join(escaped(place.Tenant), escaped(place.Session), string(place.Collection))
}

// escaped is a name as a folder has it, on any system: small letters, digits and lines stay,
// the other bytes are numbers behind a percent sign, and a long one ends in its hash.
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

// fileOf is the file of a record.
func fileOf(place storage.Place, e entry) string {
	return path.Join(folderOf(place), fmt.Sprintf("%0*d-%x%s", digits, e.position, e.key, ending))
}

// parsedName is what the name of a record's file says.
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

// content is what the file of a row holds.
func content(row storage.Row) []byte {
	second, err := json.Marshal(footer{row.Digest.String(), row.TurnID, row.DispatchID, time.Now().UTC().Truncate(time.Millisecond)})
	if err != nil {
		panic(err) // texts and a time
	}
	return bytes.Join([][]byte{row.Body, second, nil}, []byte("\n"))
}

// read reads a file. One that cannot be what was written gives a row whose digest is not
// that of its body, so that whoever reads the record says which.
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
