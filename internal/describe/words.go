package describe

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// whole is the text of a stream that has become complete.
func whole(u adk.StreamUpdate) string {
	if !u.Complete || u.Full == u.Delta {
		return ""
	}
	return " " + safetext.Quoted(u.Full)
}
