// Package wanted says what a call of user code or of the world is for, and which calls are for the
// same.
package wanted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/turntext"
)

// What is what a storage, a tool or the world is called for: a record or its key, arguments, or a
// request.
type What struct {
	Record  adk.Record
	Key     string
	Args    map[string]any
	Request json.RawMessage
}

// At returns what a seam is called for.
func At(x *adk.Crossing) What {
	args, _ := x.Args.(map[string]any)
	return What{Record: x.Record, Key: x.Key, Args: args}
}

// Part returns the part of w that a member names, as a text: equal texts are equal parts. For an
// empty member it returns the record's key, or all arguments, or the whole request. It is empty if
// there is no such part.
func (w What) Part(member string) string {
	if member != "" {
		return w.Members()[member]
	}
	switch {
	case w.Request != nil:
		return string(w.Request)
	case w.Record != nil:
		return w.Record.Key()
	case len(w.Args) == 0:
		return w.Key
	}
	text, err := json.Marshal(w.Args)
	if err != nil {
		return ""
	}
	return string(text)
}

// deepest limits the depth of members: what identifies whom a call is for is near the top.
const deepest = 4

// Members returns the texts and numbers in w, by their paths. For a text with a / or a :, it also
// returns the part before the first one.
func (w What) Members() map[string]string {
	var tree any
	switch {
	case w.Request != nil:
		tree = Tree(w.Request)
	case w.Record != nil:
		tree = Tree(w.Record.AppendJSON(nil))
	case w.Args != nil:
		tree = w.Args
	default:
		tree = map[string]any{"key": w.Key}
	}
	all := map[string]string{}
	gatherMembers(all, "", tree, deepest)
	return all
}

// Tree decodes a JSON text and keeps its numbers as they are spelled, since an id may be longer
// than a float64 holds. It returns nil if text is not JSON.
func Tree(text []byte) (tree any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil {
		return nil
	}
	return tree
}

func gatherMembers(all map[string]string, path string, value any, depth int) {
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			if depth > 0 && !strings.Contains(name, ".") {
				gatherMembers(all, strings.TrimPrefix(path+"."+name, "."), child, depth-1)
			}
		}
	case string:
		putMember(all, path, strconv.Quote(v))
		for _, mark := range []string{"/", ":"} {
			if before, _, found := strings.Cut(v, mark); found && before != "" {
				putMember(all, path+mark, strconv.Quote(before))
			}
		}
	case json.Number, float64, int, int64, bool:
		putMember(all, path, fmt.Sprint(v))
	}
}

func putMember(all map[string]string, path, text string) {
	if turntext.IsMember(path) {
		all[path] = text
	}
}

// Shape says whether a collection is called for a record, for a key, or for all records (empty).
func (w What) Shape() string {
	switch {
	case w.Record != nil:
		return "record"
	case w.Key != "":
		return "key"
	}
	return ""
}

// Call is a call, with the crossing at which it begins.
type Call struct {
	At      int
	Members map[string]string
}

// mostMembers is for how many groups of calls a fault is made at one call.
const mostMembers = 2

// GroupsOf returns the members that divide calls into groups, for faults that strike one group
// only. The group of the call at a crossing must hold a later call, but not all calls. Members near
// the top come first, and of those that make the same group only one is returned.
func GroupsOf(calls []Call, at int) (members []string) {
	mine := slices.IndexFunc(calls, func(c Call) bool { return c.At == at })
	if mine < 0 || len(calls) < 3 {
		return nil
	}
	known := []group{groupIn(calls, func(c Call) bool { return maps.Equal(c.Members, calls[mine].Members) })}
	for _, path := range shallowFirst(calls[mine].Members) {
		g := groupIn(calls, func(c Call) bool { return c.Members[path] == calls[mine].Members[path] })
		if g[len(g)-1] == mine || len(g) == len(calls) || slices.ContainsFunc(known, g.equal) {
			continue
		}
		known = append(known, g)
		if members = append(members, path); len(members) == mostMembers {
			break
		}
	}
	return members
}

// group is a subset of a list of calls, as indexes.
type group []int

func groupIn(calls []Call, alike func(Call) bool) (g group) {
	for i, c := range calls {
		if alike(c) {
			g = append(g, i)
		}
	}
	return g
}

func (g group) equal(other group) bool { return slices.Equal(g, other) }

func shallowFirst(members map[string]string) []string {
	return slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(strings.Count(a, ".")-strings.Count(b, "."), strings.Compare(a, b))
	})
}

// Key returns the key of the record that an obligation is called for, or that a crossing is about.
func Key(x *adk.Crossing) string {
	if x.Record != nil {
		return x.Record.Key()
	}
	return x.Key
}
