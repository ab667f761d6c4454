package artifact

import (
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonindex"
)

// refusal says why a question to a body has no answer, and what to ask instead; instead is empty if
// only changing the question helps. The code that makes a refusal does not know the artifact; named
// adds it.
type refusal struct{ why, instead string }

func (r *refusal) Error() string {
	if r.instead == "" {
		return r.why
	}
	return r.why + ": " + r.instead
}

// The suggestions of what to ask instead.
const (
	itsLines    = "ask for its lines"
	fewerLines  = "ask for fewer lines"
	otherLines  = "ask for other lines, or for a part of the document where it has parts"
	lessOfAll   = "ask for fewer lines, for a smaller range, or with a narrower pattern or path"
	lessOfJSON  = "ask for less of the document, or for its lines"
	rarerText   = "look for a text that only other lines have, or ask for a part of the document where it has parts"
	shorterExpr = "ask with a shorter one that repeats less"
)

// The refusals of answers that are too long.
var (
	errTooLong  = refuse(lessOfAll, "the answer is longer than %d bytes", maxAnswer)
	errLongLine = refuse(otherLines, "a line of the answer is longer than %d bytes alone", maxAnswer)
)

func refuse(instead, format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...), instead}
}

// named turns a refusal into E_ARTIFACT_FORMAT with the artifact's name (ART-6, ART-17). Other
// errors stay unchanged.
func (a *Artifact) named(err error) error {
	var r *refusal
	var far jsonindex.TooFar
	switch {
	case errors.As(err, &far):
		err = refuse(lessOfJSON, "%s", far)
	case !errors.As(err, &r):
		return err
	}
	return &adk.Error{Code: adk.E_ARTIFACT_FORMAT, Message: fmt.Sprintf("artifact %.80q: %s", a.media.ID(), err)}
}
