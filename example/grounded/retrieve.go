package grounded

import (
	"cmp"
	"context"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// This file finds what the documentation says about a question, and decides what of it to show.

// candidate is a chunk and how well it fits, as far as that is known.
type candidate struct {
	Chunk
	score float64
}

// retrieve finds the chunks to show. If even the best fits too badly, it shows a chunk that says
// so, and puts the closest pages into the stash for the refusal.
func (a *Agent) retrieve(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	question, _ := tc.Stash().Get("question", "").(string)
	rewrite, err := orNothing(ctx, "rewriter", question, a.Rewrite)
	if err != nil {
		return err
	}
	supposed, err := orNothing(ctx, "supposer", question, a.Suppose)
	if err != nil {
		return err
	}
	found, err := a.fused(ctx, []Lookup{{"question", question}, {"rewrite", rewrite}, {"supposition", supposed}})
	if err != nil {
		return err
	}
	isRanked, err := a.rerank(ctx, found, question, rewrite)
	if err != nil {
		return err
	}
	if isRanked && (len(found) == 0 || found[0].score < a.Floor) {
		if err := tc.Stash().Set("closest", pagesOf(found)); err != nil {
			return err
		}
		found = []candidate{{Chunk: Chunk{ID: "chunk-none", Text: "The documentation says nothing of this."}}}
	}
	for _, c := range a.packed(found) {
		score, at := min(c.score, 1), tc.Now()
		shown, err := adk.NewRetrievable(adk.RetrievableInit{ID: c.ID, Content: c.Text, TrustTier: adk.TrustFirstParty,
			Source: c.Page + "#" + c.Anchor, Score: &score, CreatedAt: at, UpdatedAt: at})
		if err != nil {
			return err
		}
		if _, err := tc.Retrievables().Add(shown); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// orNothing asks for another form of a question. If that fails it returns nothing, and its lane is
// not searched. It returns an error only if the turn has ended.
func orNothing(ctx context.Context, of, question string, ask func(context.Context, string) (string, error)) (string, error) {
	text, err := adk.Ask(ctx, of, question, ask, adk.AskOptions{Effect: adk.EffectReads})
	switch {
	case ctx.Err() != nil:
		return "", err
	case err != nil:
		return "", nil
	}
	return text, nil
}

// smoothing is the constant of reciprocal rank fusion: the larger it is, the less the first rank
// counts more than the second.
const smoothing = 60

// fused returns the chunks that any lane finds. First come those that several lanes find, and
// chunks on pages of which much was found are preferred.
func (a *Agent) fused(ctx context.Context, lanes []Lookup) ([]candidate, error) {
	var found []candidate
	mass := map[string]float64{}
	for _, lane := range lanes {
		if lane.Query == "" {
			continue
		}
		chunks, err := adk.Ask(ctx, "index", lane, a.Search, adk.AskOptions{Effect: adk.EffectReads})
		if err != nil {
			return nil, err
		}
		for rank, chunk := range chunks {
			share := 1 / float64(smoothing+rank+1)
			mass[chunk.Page] += share
			at := slices.IndexFunc(found, func(c candidate) bool { return c.ID == chunk.ID })
			if at < 0 {
				at, found = len(found), append(found, candidate{Chunk: chunk})
			}
			found[at].score += share
		}
	}
	densest := 0.0
	for _, of := range mass {
		densest = max(densest, of)
	}
	for i := range found {
		found[i].score *= 1 + 0.5*mass[found[i].Page]/densest
	}
	bestFirst(found)
	return found, nil
}

func bestFirst(found []candidate) {
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
}

// rerank scores chunks by how well they fit the question or the rewrite, whichever is better. If it
// reports false, no ranking was possible and the scores are unchanged. It returns an error only if
// the turn has ended.
func (a *Agent) rerank(ctx context.Context, found []candidate, queries ...string) (isRanked bool, err error) {
	texts := make([]string, len(found))
	for i, c := range found {
		texts[i] = c.Text
	}
	best := make([]float64, len(found))
	for _, query := range queries {
		if query == "" {
			continue
		}
		scores, err := adk.Ask(ctx, "reranker", Ranking{query, texts}, a.Rank, adk.AskOptions{Effect: adk.EffectReads})
		if err != nil && ctx.Err() != nil {
			return false, err
		}
		if err != nil || len(scores) != len(found) {
			continue
		}
		isRanked = true
		for i, score := range scores {
			best[i] = max(best[i], score)
		}
	}
	if isRanked {
		for i := range found {
			found[i].score = best[i]
		}
		bestFirst(found)
	}
	return isRanked, nil
}

// packed returns the first chunks for which there is room, but at least one.
func (a *Agent) packed(found []candidate) []candidate {
	left := a.Room
	for i, c := range found {
		if left -= tokens(c.Text); left < 0 && i > 0 {
			return found[:i]
		}
	}
	return found
}

func tokens(text string) int { return adk.EstimateTokens(text, adk.EncodingCL100kBase) }

// pagesOf returns the pages of chunks, without duplicates.
func pagesOf(found []candidate) []any {
	pages := []any{}
	for _, c := range found {
		if !slices.Contains(pages, any(c.Page)) {
			pages = append(pages, c.Page)
		}
	}
	return pages
}

// report is what shed logs about a turn that did not fit.
type report struct {
	tokens, room                     int  // tokens shown to the model in the end, and tokens allowed
	retrievables, memories, messages int  // how many were dropped
	refused                          bool // it still does not fit
}

// ReportKind is the kind of the log about what did not fit. Its payload has tokens and room, how
// many retrievables, memories and messages were dropped, and whether the turn is refused.
const ReportKind = "window-report"

// shed drops what does not fit: the chunk that fits the question least, then the last memory, then
// the oldest message, but never the question. It logs what was dropped. If the rest is still too
// long, the log says refused and the turn goes on: the model's executor refuses it before anything
// is sent, as adk/chat does with its Limits.
func (a *Agent) shed(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	r := report{tokens: shown(tc), room: a.Window - a.Reserve}
	fits := r.tokens <= r.room
	for ; r.tokens > r.room && !r.refused; r.tokens = shown(tc) {
		if err := r.drop(tc); err != nil {
			return err
		}
	}
	if !fits {
		r.log(tc)
	}
	next(ctx)
	return nil
}

// drop drops the least important record, or marks the turn as refused if only what is needed is
// left.
func (r *report) drop(tc *adk.TurnContext) (err error) {
	retrieved, memories, messages := tc.Retrievables().All(), tc.Memories().All(), tc.Messages().All()
	switch {
	case len(retrieved) > 1:
		r.retrievables++
		_, err = tc.Retrievables().Remove(retrieved[len(retrieved)-1].ID())
	case len(memories) > 0:
		r.memories++
		_, err = tc.Memories().Remove(memories[len(memories)-1].ID())
	case len(messages) > 1:
		r.messages++
		_, err = tc.Messages().Remove(messages[0].ID())
	default:
		r.refused = true
	}
	return err
}

func (r *report) log(tc *adk.TurnContext) {
	level := adk.LevelInfo
	if r.refused {
		level = adk.LevelWarn
	}
	tc.Log(level, ReportKind, "not all fits into the model's window", map[string]any{"tokens": r.tokens, "room": r.room,
		"retrievables": r.retrievables, "memories": r.memories, "messages": r.messages, "refused": r.refused})
}

// shown returns how many tokens the model is shown.
func shown(tc *adk.TurnContext) int {
	sum := tokens(tc.SystemPrompt().String())
	for _, m := range tc.Messages().All() {
		sum += tokens(m.Content().String())
	}
	for _, m := range tc.Memories().All() {
		sum += tokens(m.Content().String())
	}
	for _, r := range tc.Retrievables().All() {
		sum += tokens(r.Content().String())
	}
	return sum
}
