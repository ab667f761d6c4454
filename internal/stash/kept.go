package stash

// Kept is a tree that keeps what was last worked out of it, a digest say.
type Kept[S any] struct {
	Tree
	sum   S
	fresh bool // sum is of the tree as it is
}

// Copy is a deep copy (STA-6).
func (k *Kept[S]) Copy() Kept[S] { return Kept[S]{Tree: k.Tree.Copy(), sum: k.sum, fresh: k.fresh} }

// Sum is what of makes of the root, worked out once a change.
func (k *Kept[S]) Sum(of func(root map[string]any) S) S {
	if !k.fresh {
		k.sum, k.fresh = of(k.Root()), true
	}
	return k.sum
}

// Set is Tree.Set.
func (k *Kept[S]) Set(path string, value any) error {
	if err := k.Tree.Set(path, value); err != nil {
		return err
	}
	k.fresh = false
	return nil
}
