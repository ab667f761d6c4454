package corpus

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shard is one of several parts of a corpus, for several machines. The parts have about the same
// size in bytes. Every machine gets the same parts from the same list of names and sizes. The zero
// Shard is the whole corpus.
type Shard struct {
	// Index counts from 1.
	Index int `json:"index"`
	// Count is the number of shards.
	Count int `json:"count"`
}

// mostShards bounds the cost of cutting.
const mostShards = 10_000

// String returns i/n.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// ParseShard parses i/n.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	s := Shard{i, n}
	if !ok || err != nil || err2 != nil || s == (Shard{}) || s.check() != nil {
		return Shard{}, fmt.Errorf("replay: %q is no shard: give i/n, such as 3/8, with i from 1 to n, and n up to %d", text, mostShards)
	}
	return s, nil
}

func (s Shard) check() error {
	if s != (Shard{}) && (s.Index < 1 || s.Count < s.Index || s.Count > mostShards) {
		return fmt.Errorf("replay: there is no shard %s: the index counts from 1 to the count, which is at most %d", s, mostShards)
	}
	return nil
}

// Of returns the indexes of the sources of this shard, in order. It assigns the sources by
// decreasing size, each to the shard with the least bytes so far. Sources of equal size are ordered
// by name and then by index.
func (s Shard) Of(sources []Source) []int {
	places := make([]int, len(sources))
	for i := range places {
		places[i] = i
	}
	if s.Count <= 1 {
		return places
	}
	slices.SortFunc(places, func(a, b int) int {
		x, y := sources[a], sources[b]
		return cmp.Or(cmp.Compare(y.Size, x.Size), cmp.Compare(x.Name, y.Name), cmp.Compare(a, b))
	})
	loads := make([]int64, s.Count)
	var mine []int
	for _, place := range places {
		lightest := slices.Index(loads, slices.Min(loads))
		loads[lightest] += max(1, sources[place].Size) // a trace of unknown size counts too
		if lightest == s.Index-1 {
			mine = append(mine, place)
		}
	}
	slices.Sort(mine)
	return mine
}
