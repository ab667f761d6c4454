package adk

import "slices"

// ToolResult is what a tool's handler returns (TOL-5) and what a tool call
// holds (PRM-7). It is one of
//
//   - *Tokenizable, text
//   - Bytes, which only a handler returns
//   - *Media
//   - MediaList
type ToolResult interface{ isToolResult() }

// Bytes are raw bytes that a tool returned. They are no record: whoever makes
// the tool call turns them into text, a media or an artifact first.
type Bytes []byte

// MediaList are several media that one tool call returned.
type MediaList []*Media

func (t *Tokenizable) isToolResult() {}
func (b Bytes) isToolResult()        {}
func (m *Media) isToolResult()       {}
func (l MediaList) isToolResult()    {}

// emptyResult tells whether a result is none at all (TOL-5): nil, a nil pointer
// or bytes, or a list without media or with one that is nil. A text without
// characters is a result, and so are no bytes that are not nil.
func emptyResult(r ToolResult) bool {
	switch r := r.(type) {
	case nil:
		return true
	case *Tokenizable:
		return r == nil
	case Bytes:
		return r == nil
	case *Media:
		return r == nil
	case MediaList:
		return len(r) == 0 || slices.Contains(r, nil)
	default:
		return false
	}
}

// results checks what a tool call is to hold, and gives it as the call's own.
func (c *fieldCheck) results(field string, r ToolResult) ToolResult {
	if list, ok := r.(MediaList); ok && len(list) > 0 {
		c.medias(field, list) // which names the one that is nil
		return slices.Clone(list)
	}
	if emptyResult(r) {
		c.fault(field, "is missing or empty, want text, a media or a list of media")
		return nil
	}
	switch r := r.(type) {
	case *Tokenizable:
		c.optional(field, r.String())
	case Bytes:
		c.fault(field, "is %d raw bytes, want text, a media or a list of media", len(r))
	}
	return r
}
