package stash

// Kept is a Tree that keeps its Sum up to date once the Sum was requested.
type Kept struct {
	Tree
	sum   Sum
	known bool
}

// Copy is like Tree.Copy.
func (k *Kept) Copy() Kept { return Kept{k.Tree.Copy(), k.sum, k.known} }

// Sum returns the sum of the tree.
func (k *Kept) Sum() Sum {
	if !k.known {
		k.sum, k.known = SumOf(k.root), true
	}
	return k.sum
}

// Set is like Tree.Set.
func (k *Kept) Set(path string, value any) error {
	if !k.known {
		return k.Tree.Set(path, value)
	}
	return k.sum.Follow(&k.root, path, func() error { return k.Tree.Set(path, value) })
}
