package otlp

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// node is a span that concerns an agent, and the nodes below it.
type node struct {
	*Span
	does  operation
	below []*node
}

// operation is what a span measures.
type operation string

const (
	nothing operation = ""
	agent   operation = "agent"
	chat    operation = "chat"
	tool    operation = "tool"
)

// operations maps the names in the conventions to operations.
var operations = map[string]operation{
	"invoke_agent": agent, "invoke_workflow": agent, "execute_tool": tool,
	"chat": chat, "generate_content": chat, "text_completion": chat, "embeddings": chat,
}

// forest finds the spans that concern agents and returns them as trees, in the order in which they
// began. left is how many other spans there are.
func forest(all []*Span) (roots []*node, left int, err error) {
	type key struct{ trace, span string }
	spans, nodes := map[key]*Span{}, map[key]*node{}
	var once []*Span
	for _, s := range all {
		if err := s.check(); err != nil {
			return nil, 0, err
		}
		at := key{s.TraceID, s.SpanID}
		if spans[at] != nil { // it was sent twice, which is allowed
			continue
		}
		spans[at], once = s, append(once, s)
		if does := operations[s.text("gen_ai.operation.name")]; does != nothing {
			nodes[at] = &node{Span: s, does: does}
		} else {
			left++
		}
	}
	for _, s := range once {
		one := nodes[key{s.TraceID, s.SpanID}]
		if one == nil {
			continue
		}
		above, steps := s.ParentID, 0
		for ; above != "" && nodes[key{s.TraceID, above}] == nil; steps++ {
			parent := spans[key{s.TraceID, above}]
			if steps > len(all) {
				return nil, 0, fmt.Errorf("span %s lies within itself", s.SpanID)
			}
			if above = ""; parent != nil {
				above = parent.ParentID
			}
		}
		if parent := nodes[key{s.TraceID, above}]; parent != nil {
			parent.below = append(parent.below, one)
		} else {
			roots = append(roots, one)
		}
	}
	for _, one := range nodes {
		slices.SortStableFunc(one.below, byBegin)
	}
	slices.SortStableFunc(roots, byBegin)
	return roots, left, reached(roots, len(nodes))
}

// reached returns an error if a node is below no root, which means that it is in a cycle.
func reached(roots []*node, all int) error {
	open := slices.Clone(roots)
	for n := 0; n < len(open); n++ {
		open = append(open, open[n].below...)
	}
	if len(open) < all {
		return fmt.Errorf("%s within themselves", safetext.Counted(all-len(open), "span")+" lie")
	}
	return nil
}

func byBegin(a, b *node) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) }

// check returns an error for a span with invalid ids or times.
func (s *Span) check() error {
	for _, id := range []struct {
		what, id string
		bytes    int
	}{{"traceId", s.TraceID, 16}, {"spanId", s.SpanID, 8}} {
		if raw, err := hex.DecodeString(id.id); err != nil || len(raw) != id.bytes {
			return fmt.Errorf("span %s: %s is %s: want %d hexadecimal digits", safetext.Quoted(s.Name), id.what, safetext.Quoted(id.id), 2*id.bytes)
		}
	}
	if s.Start < 0 || s.End < 0 {
		return fmt.Errorf("span %s: a time before 1970", safetext.Quoted(s.Name))
	}
	return nil
}

// widen extends a node to include the nodes below it, and makes it end no earlier than it begins.
func (n *node) widen() {
	n.End = max(n.End, n.Start)
	for _, one := range n.below {
		one.widen()
		n.Start, n.End = min(n.Start, one.Start), max(n.End, one.End)
	}
}

// value returns the value of an attribute of the span, or of one of its events, or nil if there is
// none.
func (s *Span) value(key string) *Value {
	find := func(all []KeyValue) *Value {
		for i := range all {
			if all[i].Key == key {
				return &all[i].Value
			}
		}
		return nil
	}
	found := find(s.Attributes)
	for i := 0; found == nil && i < len(s.Events); i++ {
		found = find(s.Events[i].Attributes)
	}
	return found
}

// text returns the text of the first attribute among keys that has one.
func (s *Span) text(keys ...string) string {
	for _, key := range keys {
		if v := s.value(key); v != nil && v.String != nil && *v.String != "" {
			return *v.String
		}
	}
	return ""
}

// number returns the number of the first attribute among keys that has one.
func (s *Span) number(keys ...string) (int, bool) {
	for _, key := range keys {
		switch v := s.value(key); {
		case v == nil:
		case v.Int != nil && *v.Int >= 0 && int64(*v.Int) <= math.MaxInt:
			return int(*v.Int), true
		case v.Double != nil && *v.Double >= 0 && *v.Double < math.MaxInt:
			return int(*v.Double), true
		}
	}
	return 0, false
}

// failure returns the kind of a span's failure, or "" if it did not fail.
func (s *Span) failure() string {
	if s.Status.Code != statusError {
		return s.text("error.type")
	}
	return cmp.Or(s.text("error.type"), strings.TrimSpace(s.Status.Message), "failed")
}

// plain returns a value as decoded JSON.
func (v *Value) plain() any {
	switch {
	case v == nil:
		return nil
	case v.String != nil:
		return *v.String
	case v.Bool != nil:
		return *v.Bool
	case v.Int != nil:
		return float64(*v.Int)
	case v.Double != nil:
		return *v.Double
	case v.Array != nil:
		list := []any{}
		for i := range v.Array.Values {
			list = append(list, v.Array.Values[i].plain())
		}
		return list
	case v.List != nil:
		object := map[string]any{}
		for i := range v.List.Values {
			object[v.List.Values[i].Key] = v.List.Values[i].Value.plain()
		}
		return object
	}
	return nil
}
