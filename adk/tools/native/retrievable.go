package native

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// Retrievables returns the tools for retrievables: list, store, update and delete. A model can set
// only the given tiers; without any, it can set all three.
func Retrievables(tiers ...adk.TrustTier) []*adk.Tool {
	if len(tiers) == 0 {
		tiers = []adk.TrustTier{adk.TrustFirstParty, adk.TrustThirdPartyPublic, adk.TrustThirdPartyPrivate}
	}
	words := make([]string, len(tiers))
	for i, tier := range tiers {
		words[i] = string(tier)
	}
	tier := spec.Word("trustTier", "where it comes from: first-party is the deployer's own, third-party-public the open web, third-party-private a third party under contract", words...)
	return []*adk.Tool{listRetrievables(), storeRetrievable(tier), updateRetrievable(tier), deleteRetrievable()}
}

func shownRetrievable(r *adk.Retrievable) any {
	o := jsontree.NewObject(pair("id", r.ID()), pair("content", r.Content().String()), pair("trustTier", string(r.TrustTier())))
	if r.Source() != "" {
		o.Set("source", r.Source())
	}
	if r.Kind() != "" {
		o.Set("kind", r.Kind())
	}
	if score := r.Init().Score; score != nil {
		o.Set("score", *score)
	}
	o.Set("createdAt", moment(r.CreatedAt()))
	o.Set("updatedAt", moment(r.UpdatedAt()))
	return o
}

func listRetrievables() *adk.Tool {
	return listing("list_retrievables", "Lists all documents in reach, with their ids for update_retrievable and delete_retrievable.", adk.Handle.Retrievables, shownRetrievable)
}

// about returns the arguments that describe a retrievable.
func about() []spec.Arg {
	return []spec.Arg{
		spec.Text("source", "where it was found, such as a URL"), spec.Text("kind", "what it is"), spec.Number("score", "how well it fits, 0 to 1").Within(0, 1),
	}
}

func storeRetrievable(tier spec.Arg) *adk.Tool {
	return spec.Tool{
		Name:        "store_retrievable",
		Description: "Keeps a document in reach. Its trust tier has to be said.",
		Args: append([]spec.Arg{
			spec.Text("content", "the text").NotEmpty().Required(), tier.Required(), spec.Text("id", "an id of your own; made if it is not given"),
		}, about()...),
		Writes: true, JSON: true,
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			now := c.DC.Now()
			record, err := adk.NewRetrievable(adk.RetrievableInit{
				ID: idOr(c), Content: c.Text("content"), TrustTier: adk.TrustTier(c.Text("trustTier")), Source: c.Text("source"), Kind: c.Text("kind"),
				Score: given(c, "score", nil), CreatedAt: now, UpdatedAt: now,
			})
			if err != nil {
				return "", err
			}
			if err := c.DC.Retrievables().Store(ctx, record); err != nil {
				return "", err
			}
			return done("retrievable", shownRetrievable(record)), nil
		},
	}.Make()
}

func updateRetrievable(tier spec.Arg) *adk.Tool {
	return spec.Tool{
		Name:        "update_retrievable",
		Description: "Changes some of a document in reach; what is not given stays.",
		Args: append([]spec.Arg{
			spec.Text("id", "the id of the document").Required(), spec.Text("content", "the text as it is now").NotEmpty(), tier,
		}, about()...),
		Writes: true, JSON: true,
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			record, err := found(ctx, c.DC.Retrievables(), "retrievable", c.Text("id"))
			if err != nil {
				return "", err
			}
			init := record.Init()
			init.Content, init.Source, init.Kind = textOr(c, "content", init.Content), textOr(c, "source", init.Source), textOr(c, "kind", init.Kind)
			init.TrustTier, init.Score = adk.TrustTier(textOr(c, "trustTier", string(init.TrustTier))), given(c, "score", init.Score)
			init.UpdatedAt = after(c.DC.Now(), init.CreatedAt)
			if record, err = adk.NewRetrievable(init); err != nil {
				return "", err
			}
			if err := c.DC.Retrievables().Mutate(ctx, record); err != nil {
				return "", err
			}
			return done("retrievable", shownRetrievable(record)), nil
		},
	}.Make()
}

func deleteRetrievable() *adk.Tool {
	return deleting("delete_retrievable", "Takes a document out of reach. An id that is not known is fine.", "id", spec.Text("id", "the id of the document"), adk.Handle.Retrievables)
}
