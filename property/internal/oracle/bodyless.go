package oracle

import (
	"regexp"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// hasNoBody matches the error with which package net/http refuses a request that announces a body
// and has none.
var hasNoBody = regexp.MustCompile(`http: ContentLength=[1-9]\d* with Body length 0$`)

// sentWithoutBody finds a request that is made again with a body that was read to its end the first
// time, such as by a transport that clones the request for each attempt and not its body. It is
// silent unless package net/http itself refuses the request, and unless the same method and path
// was asked of the same before.
func sentWithoutBody(r, _ *Run) []exhibit {
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if x.Kind != adk.KindAsk || x.Phase != adk.Done || x.Err == nil || !hasNoBody.MatchString(x.Err.Error()) {
			continue
		}
		if again := r.asks()[x.Op]; again != nil && r.isMadeAgain(again.begun) {
			return []exhibit{r.exhibit(x, "the request to %s is made again, and its body was read to its end the first time: nothing of it is left to send", again.begun.Name)}
		}
	}
	return nil
}

// isMadeAgain reports whether an earlier request has the name, the method and the path of an ask.
func (r *Run) isMadeAgain(ask *adk.Crossing) bool {
	for _, one := range r.asks() {
		if one.begun.Seq < ask.Seq && one.begun.Name == ask.Name && httpform.SameLine(one.begun.JSON, ask.JSON) {
			return true
		}
	}
	return false
}
