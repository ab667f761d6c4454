package adk

import (
	"errors"
	"fmt"
	"slices"
)

// ToolResult is what a tool's handler returns (TOL-5) and what a tool call holds (PRM-7). It is one
// of
//
//   - *Tokenizable, text
//   - Bytes, which only a handler returns
//   - *Media
//   - MediaList
//
// and nothing else: a type that embeds one of these is refused.
type ToolResult interface{ isToolResult() }

// Bytes are raw bytes that a tool returned. A tool call cannot hold them: the code that makes the
// tool call first turns them into text, a media or an artifact.
type Bytes []byte

// MediaList is several media that one tool call returned.
type MediaList []*Media

func (t *Tokenizable) isToolResult() {}
func (b Bytes) isToolResult()        {}
func (m *Media) isToolResult()       {}
func (l MediaList) isToolResult()    {}

// checkedResult returns the result if it is a valid one of the union. It returns nil for an empty
// result (TOL-5): nil, a nil pointer, or a list that has no media or a nil one. An empty text is a
// result, and so are empty Bytes, even nil ones, because an unused buffer has nil bytes. A foreign
// type that embeds a result is an error, and so is a zero media: embedding passes on the unexported
// method of ToolResult, so this check is what closes the union.
func checkedResult(r ToolResult) (ToolResult, error) {
	if b, ok := r.(Bytes); ok && b == nil {
		return Bytes{}, nil
	}
	empty := r == nil
	switch r := r.(type) {
	case nil, Bytes:
	case *Tokenizable:
		empty = r == nil
	case *Media:
		if empty = r == nil; !empty && !made(r) {
			return nil, errZeroMedia
		}
	case MediaList:
		if empty = len(r) == 0 || slices.Contains(r, nil); !empty && slices.ContainsFunc(r, func(m *Media) bool { return !made(m) }) {
			return nil, errZeroMedia
		}
	default:
		return nil, fmt.Errorf("the result is a %T, want *Tokenizable, Bytes, *Media or MediaList", r)
	}
	if empty {
		return nil, nil
	}
	return r, nil
}

var errZeroMedia = errors.New("the result holds a zero media, want media that NewMedia made")

// results checks the results for a tool call and returns them with a list of the call's own.
func (c *fieldCheck) results(field string, r ToolResult) ToolResult {
	if list, ok := r.(MediaList); ok && len(list) > 0 {
		c.medias(field, list) // names the media that is invalid
		return slices.Clone(list)
	}
	r, err := checkedResult(r)
	switch {
	case err != nil:
		c.Fault(field, "is refused: %s", err)
	case r == nil:
		c.Fault(field, "is missing or empty, want text, a media or a list of media")
	}
	switch r := r.(type) {
	case *Tokenizable:
		c.Optional(field, r.String())
	case Bytes:
		c.Fault(field, "is %d raw bytes, want text, a media or a list of media", len(r))
	}
	return r
}
