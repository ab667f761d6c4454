package grounded

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// This file says which answers may stand.

// refusal is what is said where the documentation says nothing.
const refusal = "The documentation does not answer this."

// rule is one that an answer has to keep, and what the model is told where it does not.
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

// rules are in the order in which the model is told of them.
var rules = []rule{
	{citesWhatItSaw, "Link to a page that you were shown, and to no other page."},
	{func(answer string, _ map[string]bool) bool {
		return !fenced.MatchString(answer) && !code.MatchString(answer)
	}, "Write no code."},
	{func(answer string, _ map[string]bool) bool {
		return !gesture.MatchString(answer) || link.MatchString(answer)
	}, "Where you point to the documentation, link to the page."},
}

// citesWhatItSaw reports whether an answer links to a page that was shown, and to no other
// page of the documentation.
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

// pageOf is the page of a link, and reports whether it is one of the documentation.
func pageOf(target string) (page string, isInternal bool) {
	page, _, _ = strings.Cut(target, "#")
	return page, strings.HasPrefix(page, "/")
}

// gate looks at the answer. One that may not stand leaves the dispatch, and the model is told
// what to mend; after the last try what is wrong is cut out of it.
func (a *Agent) gate(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	all := dc.Messages().All()
	if len(all) == 0 || all[len(all)-1].Role() != adk.RoleAssistant { // it wrote none: there is nothing to look at
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

// settle has a text stand as the answer, and ends the dispatch.
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

// brokenIn are the rules that an answer does not keep, as the model is told of them.
func brokenIn(answer string, pages map[string]bool) (broken []string) {
	for _, r := range rules {
		if !r.keeps(answer, pages) {
			broken = append(broken, r.correct)
		}
	}
	return broken
}

// pagesShown are the pages of which the model was shown something.
func pagesShown(dc *adk.DispatchContext) map[string]bool {
	pages := map[string]bool{}
	for _, r := range dc.Retrievables().All() {
		page, _ := pageOf(r.Source())
		pages[page] = true
	}
	return pages
}

// cleaned is an answer without what it may not have: links that it made up are their text.
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

// refused is the refusal, with the pages that come the closest.
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
