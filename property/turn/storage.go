package turn

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/internal/turntext"
)

// storage is the storage of an interpreter: it does what the scripts of its seams say, and
// otherwise keeps records in memory.
func (s *interpreter) storage() adk.Storage {
	return storages.Of(obligations{s, storages.Each(s.kept.Storage())})
}

// oblige carries out a call of an obligation; work is the usual behaviour.
func (s *interpreter) oblige(ctx context.Context, of adk.CollectionName, verb string, work func(*Body) error) error {
	a := &actor{scope: s.root, ctx: ctx}
	body := s.enter(turntext.StoragePath(of, verb), a)
	if body == nil {
		return work(nil)
	}
	fails := body.End.How != "" && body.End.How != adk.OutcomeOK
	if !fails || body.End.Kept {
		if err := work(body); err != nil {
			return err
		}
	}
	return s.play(a, body)
}

// obligations are those of the storage. It keeps records even if the context has ended, because
// only a script should make a storage refuse.
type obligations struct {
	stage *interpreter
	kept  map[adk.CollectionName]storages.Obligations
}

// Fetch returns the records that the script says, or those that are stored.
func (o obligations) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) (all []adk.Record, err error) {
	err = o.stage.oblige(ctx, of, of.Reads().String(), func(body *Body) (err error) {
		if body == nil || body.End.Records == nil {
			all, err = o.kept[of].Fetch(context.WithoutCancel(ctx), scope, of)
			return err
		}
		for _, r := range body.End.Records {
			if one := o.stage.own(r.Record); one != nil && one.RecordKind() == of.Holds() {
				all = append(all, one)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Write keeps a record, or removes the one with the key.
func (o obligations) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	return o.stage.oblige(ctx, of, verb.String(), func(*Body) error {
		return o.kept[of].Write(context.WithoutCancel(ctx), scope, of, verb, record, key)
	})
}
