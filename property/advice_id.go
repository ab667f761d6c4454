package property

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// idOfContent: a record is kept under an id that follows from its text: the text itself, or a hash
// of it in one of the usual forms. It gives no hint about short texts, nor about hashes of anything
// else.
type idOfContent struct{ looked map[string]bool }

func (w *idOfContent) see(s *history, x *adk.Crossing) {
	if x.Record == nil || x.Kind != adk.KindStore && x.Kind != adk.KindMutate && x.Kind != adk.KindAdd {
		return
	}
	var text string
	switch r := x.Record.(type) {
	case *adk.Message:
		if r.Content() != nil {
			text = r.Content().String()
		}
	case *adk.Memory:
		text = r.Content().String()
	case *adk.Retrievable:
		text = r.Content().String()
	case *adk.Thought:
		text = r.Content().String()
	}
	id := x.Record.Key()
	if text == "" || w.looked[id] {
		return
	}
	put(&w.looked, id, true)
	if of := madeOf(id, text); of != "" {
		s.hint(s.n, s.at, nil, "%s %.80q has an id that is %s its text", x.Record.RecordKind(), id, of)
	}
}

// leastSlug is the length from which an id that equals its text does so not by chance.
const leastSlug = 12

// madeOf says how an id is made from a text; it returns nothing if it is not.
func madeOf(id, text string) string {
	if of := slugOf(id); len(of) >= leastSlug { // check the id first: most ids are short, but texts are long
		if words := slugOf(text); of == words || len(id) >= 2*leastSlug && strings.HasPrefix(words, of) {
			return "made of"
		}
	}
	if !mayBeHash(id) {
		return ""
	}
	for _, content := range []string{text, strings.TrimSpace(text)} {
		if slices.ContainsFunc(hashesOf(content), func(sum []byte) bool { return isHash(id, sum) }) {
			return "a hash of"
		}
	}
	return ""
}

var noWord = regexp.MustCompile(`[^\pL\pN]+`)

// slugOf returns the words of a text joined by dashes, as they are in ids.
func slugOf(text string) string {
	return strings.Trim(noWord.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

var hexDigits = regexp.MustCompile(`[0-9a-f]{8,}`)

// leastBase64 is how many base64 characters of a hash are needed to exclude chance.
const leastBase64 = 10

// leastDecimal is how many decimal digits of a short hash are needed to exclude chance.
const leastDecimal = 8

// mayBeHash reports whether an id may contain a hash at all, so that few texts need to be hashed:
// it must have hex digits, or upper and lower case letters as base64 does.
func mayBeHash(id string) bool {
	if len(id) < 8 || strings.ContainsAny(id, " \t\n") {
		return false
	}
	return len(id) >= leastBase64 && strings.ToLower(id) != id && strings.ToUpper(id) != id ||
		hexDigits.MatchString(strings.ToLower(strings.ReplaceAll(id, "-", "")))
}

// isHash reports whether an id contains the hash sum, or the beginning of it.
func isHash(id string, sum []byte) bool {
	digits := hex.EncodeToString(sum)
	for _, run := range hexDigits.FindAllString(strings.ToLower(strings.ReplaceAll(id, "-", "")), -1) {
		if strings.HasPrefix(digits, run) {
			return true
		}
	}
	for _, part := range append(strings.FieldsFunc(id, func(r rune) bool { return r == ':' || r == '.' }), id) {
		for _, form := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if part = strings.TrimRight(part, "="); len(part) >= leastBase64 && strings.HasPrefix(form.EncodeToString(sum), part) {
				return true
			}
		}
	}
	decimal := fmt.Sprint(number(sum))
	return len(decimal) >= leastDecimal && strings.Contains(id, decimal)
}

// number returns a short hash as a number, and 0 for a long one, which nobody writes as a number.
func number(sum []byte) uint64 {
	if len(sum) > 8 {
		return 0
	}
	return binary.BigEndian.Uint64(append(make([]byte, 8-len(sum)), sum...))
}

// spaces lists no name space, and the name spaces of UUIDs in RFC 9562.
var spaces = [...]string{"", "6ba7b8109dad11d180b400c04fd430c8", "6ba7b8119dad11d180b400c04fd430c8", "6ba7b8129dad11d180b400c04fd430c8",
	"6ba7b8149dad11d180b400c04fd430c8", "00000000000000000000000000000000"}

// hashesOf returns the usual hashes of a text: cryptographic ones, short ones, and name-based
// UUIDs.
func hashesOf(text string) (sums [][]byte) {
	data := []byte(text)
	of256, of512 := sha256.Sum256(data), sha512.Sum512(data)
	short32, short64 := fnv.New32a(), fnv.New64a()
	_, _ = short32.Write(data)
	_, _ = short64.Write(data)
	sums = append(sums, of256[:], of512[:], short32.Sum(nil), short64.Sum(nil), binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data)))
	for i, space := range spaces {
		name, _ := hex.DecodeString(space) // a constant
		name = append(name, data...)
		of5, of1 := md5.Sum(name), sha1.Sum(name)
		if i == 0 {
			sums = append(sums, of5[:], of1[:])
			continue
		}
		sums = append(sums, named(of5[:], 3), named(of1[:], 5))
	}
	return sums
}

// named returns a hash as a name-based UUID.
func named(sum []byte, version byte) []byte {
	id := slices.Clone(sum[:16])
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
	return id
}
