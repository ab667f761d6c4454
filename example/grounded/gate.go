package grounded

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// This file decides which answers may stand.

// refusal is the answer if the documentation says nothing.
const refusal = "The documentation does not answer this."

// rule is a rule for answers, with the correction that the model gets if it breaks the rule.
type rule struct {
	keeps   func(answer string, pages map[string]bool) bool
	correct string
}

var (
	link    = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	fenced  = regexp.MustCompile("(?s)```.*?(```|$)")
	code    = regexp.MustCompile(`(?m)^\s*(func|def|class|const|var|import)\s+\S.*[({=:"].*$`)
	gesture = regexp.MustCompile(`(?i)\b(see|check|read|consult) the (docs|documentation|guide)\b`)
)

// rules are in the order in which the model gets the corrections.
var rules = []rule{
	{citesWhatItSaw, "Link to a page that you were shown, and to no other page."},
	{func(answer string, _ map[string]bool) bool {
		return !fenced.MatchString(answer) && !code.MatchString(answer)
	}, "Write no code."},
	{func(answer string, _ map[string]bool) bool {
		return !gesture.MatchString(answer) || link.MatchString(answer)
	}, "Where you point to the documentation, link to the page."},
}

// citesWhatItSaw reports whether an answer links to a page that was shown, and to no other page of
// the documentation.
func citesWhatItSaw(answer string, pages map[string]bool) bool {
	cites := false
	for _, found := range link.FindAllStringSubmatch(answer, -1) {
		page, isInternal := pageOf(found[2])
		if isInternal && !pages[page] {
			return false
		}
		cites = cites || isInternal
	}
	return cites
}

// pageOf returns the page of a link, and reports whether it is in the documentation.
func pageOf(target string) (page string, isInternal bool) {
	page, _, _ = strings.Cut(target, "#")
	return page, strings.HasPrefix(page, "/")
}

// gate checks the answer. It removes a bad answer from the dispatch and gives the model
// corrections. After the last try, it cuts what is bad out of the answer.
func (a *Agent) gate(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	all := dc.Messages().All()
	if len(all) == 0 || all[len(all)-1].Role() != adk.RoleAssistant { // there is no answer to check
		next(ctx)
		return nil
	}
	answer := all[len(all)-1]
	text := answer.Content().String()
	closest, abstains := dc.Stash().Get("closest", nil).([]any)
	broken := brokenIn(text, pagesShown(dc))
	switch {
	case abstains:
		return a.settle(ctx, dc, answer, refused(closest), next)
	case len(broken) == 0:
		return a.settle(ctx, dc, answer, text, next)
	case dc.Iteration()+1 >= a.Tries:
		return a.settle(ctx, dc, answer, cleaned(text, pagesShown(dc)), next)
	}
	if err := dc.Messages().Delete(ctx, answer.ID()); err != nil {
		return err
	}
	question, _ := dc.Stash().Get("question", "").(string)
	corrected, err := newMessage(questionID, adk.RoleUser, question+"\n\n"+strings.Join(broken, "\n"), dc.Now())
	if err != nil {
		return err
	}
	if _, err := dc.Messages().Add(corrected); err != nil {
		return err
	}
	next(ctx)
	return nil
}

// settle makes a text the answer, and ends the dispatch.
func (a *Agent) settle(ctx context.Context, dc *adk.DispatchContext, answer *adk.Message, text string, next adk.Next) error {
	if text != answer.Content().String() {
		init := answer.Init()
		init.Content, init.UpdatedAt = text, dc.Now()
		stands, err := adk.NewMessage(init)
		if err != nil {
			return err
		}
		if err := dc.Messages().Mutate(ctx, stands); err != nil {
			return err
		}
	}
	next(ctx)
	return dc.Ack()
}

// brokenIn returns the corrections for the rules that an answer breaks.
func brokenIn(answer string, pages map[string]bool) (broken []string) {
	for _, r := range rules {
		if !r.keeps(answer, pages) {
			broken = append(broken, r.correct)
		}
	}
	return broken
}

// pagesShown returns the pages of which the model was shown a chunk.
func pagesShown(dc *adk.DispatchContext) map[string]bool {
	pages := map[string]bool{}
	for _, r := range dc.Retrievables().All() {
		page, _ := pageOf(r.Source())
		pages[page] = true
	}
	return pages
}

// cleaned returns an answer without code, and with the text only of links that must not be there.
func cleaned(answer string, pages map[string]bool) string {
	answer = link.ReplaceAllStringFunc(answer, func(found string) string {
		parts := link.FindStringSubmatch(found)
		if page, isInternal := pageOf(parts[2]); isInternal && !pages[page] {
			return parts[1]
		}
		return found
	})
	answer = strings.TrimSpace(code.ReplaceAllString(fenced.ReplaceAllString(answer, ""), ""))
	if answer == "" {
		return refusal
	}
	return answer
}

// refused returns the refusal, with the closest pages.
func refused(closest []any) string {
	text := refusal
	if len(closest) > 0 {
		text += " The closest pages:\n"
	}
	for _, page := range closest {
		text += fmt.Sprintf("\n- [%s](%s)", page, page)
	}
	return text
}
