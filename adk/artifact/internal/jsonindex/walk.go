package jsonindex

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// TooFar says which limit a question exceeds.
type TooFar string

// Error returns the limit in words.
func (t TooFar) Error() string { return string(t) }

// ErrTooManyNodes says that a question would visit more nodes than it may.
const ErrTooManyNodes TooFar = "the question visits too many nodes"

// ErrTooLong says that an answer would be longer than it may.
var ErrTooLong = errors.New("the answer is too long")

// Walk goes through a document for one question. It is not safe for concurrent use.
type Walk struct {
	*Document
	left  int
	seed  maphash.Seed
	lists map[Node]places
	keyed map[Node]keys
	kept  int // number of remembered places and keys
	open  int // keys of the large objects that are being iterated, one within the other
	last  cursor
}

// NewWalk begins a question that may visit a number of nodes.
func (d *Document) NewWalk(nodes int) *Walk {
	return &Walk{Document: d, left: nodes, seed: maphash.MakeSeed(), lists: map[Node]places{}, keyed: map[Node]keys{}}
}

// Visit counts nodes. If they are too many, it ends the question by a panic, as the other counting
// methods do; Recover catches it.
func (w *Walk) Visit(nodes int) {
	if w.left -= nodes; w.left < 0 {
		panic(ErrTooManyNodes)
	}
}

// Recover is deferred by the caller of a walk. It turns the panic of a question that went too far
// into its TooFar error.
func Recover(err *error) {
	switch fault := recover().(type) {
	case nil:
	case TooFar:
		*err = fault
	default:
		panic(fault)
	}
}

// The limits of scanning and of what a walk remembers.
const (
	nearby   = 512       // length in bytes of a list in which an item is looked for from the beginning
	small    = 4 << 10   // length in bytes of an object in which a key is looked for from the beginning
	few      = 16        // members of an object that are compared pairwise, and items of a list between the last one found and the next
	maxMarks = 1 << 16   // of a list
	maxKept  = 2_000_000 // places and keys that are remembered in all
	maxKeys  = 2_000_000 // keys of one object, together with the objects around it that are being iterated
	passed   = 4 << 10   // bytes that are scanned at the cost of one node
)

// places has the offsets of some items of a list, at regular distances.
type places struct {
	count int
	marks []mark
}

type mark struct{ index, at uint32 }

// cursor is the item that was found last.
type cursor struct {
	list      Node
	index, at int
}

// keep counts what is about to be remembered. If that exceeds maxKept together with what is
// remembered already, the older entries are forgotten.
func (w *Walk) keep(entries int) {
	if w.kept += entries; w.kept > maxKept {
		clear(w.lists)
		clear(w.keyed)
		w.kept = entries
	}
}

func (w *Walk) places(n Node) places {
	if p, known := w.lists[n]; known {
		return p
	}
	size := w.Size(n)
	w.Visit(size / passed)
	p, step := places{}, max(nearby/2, size/maxMarks)
	for at, more := w.first(n); more; at, more = w.next(at) {
		if last := len(p.marks) - 1; last < 0 || at-int(p.marks[last].at) >= step {
			p.marks = append(p.marks, mark{uint32(p.count), uint32(at)})
		}
		p.count++
	}
	w.keep(len(p.marks) + 1)
	w.lists[n] = p
	return p
}

// Len returns the number of items of a list, or of keys of an object.
func (w *Walk) Len(n Node) (length int) {
	switch {
	case w.IsList(n) && w.Size(n) > nearby:
		return w.places(n).count
	case w.IsObject(n) && w.Size(n) > small:
		if k := w.keys(n); !k.repeated {
			return len(k.sorted)
		}
		w.Pass(n)
	}
	for range w.Children(n) {
		length++
	}
	return length
}

// Item returns the item of a list at an index from 0; ok is false if there is none.
func (w *Walk) Item(n Node, index int) (item Node, ok bool) {
	isFar := w.last.at == 0 || w.last.list != n || w.last.index > index || index-w.last.index > few
	if isFar && !w.near(n, index) {
		return 0, false
	}
	for ; w.last.index < index; w.last.index++ {
		if w.last.at, ok = w.next(w.last.at); !ok {
			w.last = cursor{}
			return 0, false
		}
	}
	return Node(w.last.at), true
}

// near moves the cursor to the item at an index, or to one before it.
func (w *Walk) near(n Node, index int) bool {
	if w.Size(n) <= nearby {
		at, ok := w.first(n)
		if ok {
			w.last = cursor{n, 0, at}
		}
		return ok
	}
	p := w.places(n)
	if index >= p.count {
		return false
	}
	from := p.marks[sort.Search(len(p.marks), func(i int) bool { return int(p.marks[i].index) > index })-1]
	w.last = cursor{n, int(from.index), int(from.at)}
	return true
}

// Children iterates over the values in a list or an object, in order.
func (w *Walk) Children(n Node) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if w.IsObject(n) {
			w.members(n, func(_, value int) bool { return yield(Node(value)) })
			return
		}
		if !w.IsList(n) {
			return
		}
		for at, more := w.first(n); more; at, more = w.next(at) {
			if !yield(Node(at)) {
				return
			}
		}
	}
}

// Members iterates over the keys and values of an object, in order.
func (w *Walk) Members(n Node) iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		w.members(n, func(key, value int) bool { return yield(w.key(key), Node(value)) })
	}
}

// Pass counts the cost of scanning a node once more.
func (w *Walk) Pass(n Node) { w.Visit(w.Size(n) / passed) }

// members yields the offsets of an object's keys and values: each key once, at its first place,
// with its last value.
func (w *Walk) members(n Node, yield func(key, value int) bool) {
	var all [few]member
	count := 0
	for key, more := w.first(n); more; count++ {
		if count == few {
			w.manyMembers(n, yield)
			return
		}
		value := w.valueAt(key)
		all[count] = member{key, value, w.hash(w.key(key))}
		key, more = w.next(value)
	}
	for i, m := range all[:count] {
		same := func(other member) bool { return other.hash == m.hash && w.key(other.key) == w.key(m.key) }
		if slices.ContainsFunc(all[:i], same) {
			continue
		}
		value := m.value
		for _, later := range all[i+1 : count] {
			if same(later) {
				value = later.value
			}
		}
		if !yield(m.key, value) {
			return
		}
	}
}

// member has the offsets of a key and its value.
type member struct {
	key, value int
	hash       uint64 // of the key, whose comparison may take long
}

func (w *Walk) manyMembers(n Node, yield func(key, value int) bool) {
	k := w.keys(n)
	w.open += len(k.sorted)
	defer func() { w.open -= len(k.sorted) }()
	for key, more := w.first(n); more; {
		value := w.valueAt(key)
		stands := value
		if k.repeated {
			name := w.key(key)
			first, last := k.find(w, name)
			if stands = w.valueAt(last); first != key {
				stands = 0
			}
		}
		if stands != 0 && !yield(key, stands) {
			return
		}
		key, more = w.next(value)
	}
}

// keys has the offsets of an object's keys, sorted by hash and then by offset; each entry has 32
// bits of both.
type keys struct {
	sorted   []uint64
	repeated bool // two keys have the same hash
}

func (w *Walk) hash(name string) uint64 { return maphash.String(w.seed, name) >> 32 << 32 }

func (w *Walk) keys(n Node) keys {
	if k, known := w.keyed[n]; known {
		return k
	}
	size, count := w.Size(n), 0
	w.Visit(size / passed)
	for key, more := w.first(n); more; key, more = w.next(w.valueAt(key)) {
		count++
	}
	if w.open+count > maxKeys {
		panic(TooFar(fmt.Sprintf("an object, or several within one another, have more than %d keys", maxKeys)))
	}
	if size > small {
		w.keep(count + 1) // before the memory is used
	}
	k := keys{sorted: make([]uint64, 0, count)}
	for key, more := w.first(n); more; key, more = w.next(w.valueAt(key)) {
		k.sorted = append(k.sorted, w.hash(w.key(key))|uint64(key))
	}
	slices.Sort(k.sorted)
	for i := 1; i < count && !k.repeated; i++ {
		k.repeated = k.sorted[i]>>32 == k.sorted[i-1]>>32
	}
	if size > small { // smaller objects are cheap to scan
		w.keyed[n] = k
	}
	return k
}

// find returns the offsets of the first and the last occurrence of a key; 0 if there is none.
func (k keys) find(w *Walk, name string) (first, last int) {
	hash := w.hash(name)
	from, _ := slices.BinarySearch(k.sorted, hash)
	to, _ := slices.BinarySearch(k.sorted, hash+1<<32)
	if hash+1<<32 == 0 {
		to = len(k.sorted)
	}
	for _, entry := range k.sorted[from:to] {
		if first = int(uint32(entry)); w.key(first) == name {
			break
		}
		first = 0
	}
	for ; first != 0 && to > from; to-- {
		if last = int(uint32(k.sorted[to-1])); w.key(last) == name {
			break
		}
	}
	return first, last
}

// Member returns the value of a key of an object; ok is false if there is none.
func (w *Walk) Member(n Node, name string) (value Node, ok bool) {
	if w.Size(n) > small {
		_, last := w.keys(n).find(w, name)
		if last == 0 {
			return 0, false
		}
		return Node(w.valueAt(last)), true
	}
	for key, more := w.first(n); more; {
		at := w.valueAt(key)
		if w.key(key) == name {
			value, ok = Node(at), true
		}
		key, more = w.next(at)
	}
	return value, ok
}

// compared is how many bytes of a text are compared or searched at the cost of one node.
const compared = 256

// maxEscaped is the greatest length of a string with escapes, because decoding it allocates memory.
const maxEscaped = 8 << 20

// key returns the text of a key that begins at an offset.
func (w *Walk) key(at int) string { return w.string(w.text[at:w.endOfString(at)]) }

// Value returns the value of a node that is no list and no object, in the form of jsontree.
func (w *Walk) Value(n Node) any {
	text := w.Text(n)
	w.Visit(len(text) / compared)
	if text[0] == '"' {
		return w.string(text)
	}
	return jsontree.Scalar(text)
}

func (w *Walk) string(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	if len(quoted) > maxEscaped {
		panic(TooFar(fmt.Sprintf("a string of more than %d bytes has escapes", maxEscaped)))
	}
	return jsontree.Unquote(quoted)
}

// Equal reports whether two nodes are equal in the sense of jsontree.Equal.
func (w *Walk) Equal(a, b Node) bool {
	w.Visit(1)
	switch {
	case a == b:
		return true
	case w.IsList(a) && w.IsList(b):
		return w.equalLists(a, b)
	case w.IsObject(a) && w.IsObject(b):
		return w.equalObjects(a, b)
	case w.IsList(a), w.IsList(b), w.IsObject(a), w.IsObject(b):
		return false
	}
	return jsontree.Equal(w.Value(a), w.Value(b))
}

func (w *Walk) equalLists(a, b Node) bool {
	at, more := w.first(a)
	other, others := w.first(b)
	for more && others {
		if !w.Equal(Node(at), Node(other)) {
			return false
		}
		at, more = w.next(at)
		other, others = w.next(other)
	}
	return more == others
}

func (w *Walk) equalObjects(a, b Node) bool {
	w.Pass(b)
	if w.Len(a) != w.Len(b) {
		return false
	}
	for name, value := range w.Members(a) {
		other, found := w.Member(b, name)
		if !found || !w.Equal(value, other) {
			return false
		}
	}
	return true
}

// Append appends a node as package jsontree writes it: over several lines with indent blanks a
// level, or on one line if indent is 0. It fails with ErrTooLong as soon as dst is longer than
// most, or would be with the next text.
func (w *Walk) Append(dst []byte, n Node, indent, most int) ([]byte, error) {
	dst, err := (&writer{w, indent, most}).appendNode(dst, n, 0)
	if err == nil && len(dst) > most {
		return nil, ErrTooLong
	}
	return dst, err
}

// writer writes nodes for Append.
type writer struct {
	*Walk
	indent, most int
}

func (w *writer) appendNode(dst []byte, n Node, depth int) ([]byte, error) {
	if len(dst) > w.most {
		return nil, ErrTooLong
	}
	if !w.IsList(n) && !w.IsObject(n) {
		text := w.Text(n)
		if len(dst)+len(text) > w.most {
			return nil, ErrTooLong
		}
		return jsontree.Append(dst, jsontree.Scalar(text)), nil
	}
	sign := w.text[n]
	begun := false
	var err error
	item := func(key, value int) bool {
		if begun {
			dst = append(dst, ',')
		} else {
			dst = append(dst, sign)
		}
		begun = true
		dst = w.line(dst, depth+1)
		if key >= 0 {
			if len(dst)+w.endOfString(key)-key > w.most {
				err = ErrTooLong
				return false
			}
			dst = append(canonical.AppendString(dst, w.key(key)), ": "[:1+min(1, w.indent)]...)
		}
		dst, err = w.appendNode(dst, Node(value), depth+1)
		return err == nil
	}
	if sign == '{' {
		w.members(n, item)
	} else {
		for child := range w.Children(n) {
			if !item(-1, int(child)) {
				break
			}
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !begun:
		dst = append(dst, sign)
	default:
		dst = w.line(dst, depth)
	}
	return append(dst, sign+2), nil // in ASCII, ] and } are two behind [ and {
}

const blanks = "                                                                "

// line begins a line at a depth, unless all is on one line.
func (w *writer) line(dst []byte, depth int) []byte {
	if w.indent == 0 {
		return dst
	}
	dst = append(dst, '\n')
	for left := depth * w.indent; left > 0; left -= len(blanks) {
		dst = append(dst, blanks[:min(left, len(blanks))]...)
	}
	return dst
}
