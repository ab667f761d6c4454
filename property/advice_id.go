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

// idOfContent: a record is kept under an id that follows from its text: the text itself,
// or a hash of it in one of the forms that are usual. It is silent about short texts, and
// about hashes of anything else.
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

// leastSlug is how long a text is at least that an id is not like by chance.
const leastSlug = 12

// madeOf says what an id is of a text; empty where it is nothing.
func madeOf(id, text string) string {
	if of := slugOf(id); len(of) >= leastSlug { // texts are long, and most ids are short
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

// slugOf are the words of a text, as ids are made of them.
func slugOf(text string) string {
	return strings.Trim(noWord.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

var hexDigits = regexp.MustCompile(`[0-9a-f]{8,}`)

// leastBase64 is how much of a hash in base64 is no chance.
const leastBase64 = 10

// leastDecimal is how many digits of a short hash are no chance.
const leastDecimal = 8

// mayBeHash reports whether an id may have a hash in it at all, so that few texts are
// hashed: digits of one, or letters large and small as base64 has them.
func mayBeHash(id string) bool {
	if len(id) < 8 || strings.ContainsAny(id, " \t\n") {
		return false
	}
	return len(id) >= leastBase64 && strings.ToLower(id) != id && strings.ToUpper(id) != id ||
		hexDigits.MatchString(strings.ToLower(strings.ReplaceAll(id, "-", "")))
}

// isHash reports whether an id has a hash in it, or the beginning of one.
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

// number is what a short hash is as a number; 0 of a long one, which nobody writes so.
func number(sum []byte) uint64 {
	if len(sum) > 8 {
		return 0
	}
	return binary.BigEndian.Uint64(append(make([]byte, 8-len(sum)), sum...))
}

// spaces are the name spaces of RFC 9562, and none.
var spaces = [...]string{"", "6ba7b8109dad11d180b400c04fd430c8", "6ba7b8119dad11d180b400c04fd430c8", "6ba7b8129dad11d180b400c04fd430c8",
	"6ba7b8149dad11d180b400c04fd430c8", "00000000000000000000000000000000"}

// hashesOf are the usual hashes of a text: those of cryptography, the short ones, and the
// UUIDs of names.
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

// named is a hash as the UUID of a name.
func named(sum []byte, version byte) []byte {
	id := slices.Clone(sum[:16])
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
	return id
}
