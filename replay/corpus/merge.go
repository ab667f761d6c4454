package corpus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// MissingShards is the error of Merge if some shards have no report.
type MissingShards struct {
	// Missing lists the shards without a report. Count is the number of all shards.
	Missing []int
	Count   int
}

// Error names the missing shards.
func (e *MissingShards) Error() string {
	names := make([]string, len(e.Missing))
	for i, index := range e.Missing {
		names[i] = Shard{index, e.Count}.String()
	}
	return "replay: there is no report of " + strings.Join(names, ", ") + ": what these shards would have found is not known"
}

// Merge joins the reports of the shards of one corpus, in any order, into the report that the whole
// corpus would have given.
//
// If shards are missing, the error is a *MissingShards. The report then holds what is there and
// says in its Error what is missing. Any other error says why the reports do not belong together.
func Merge(reports ...*Report) (*Report, error) {
	if len(reports) == 0 {
		return nil, errors.New("replay: there is no report to merge")
	}
	first := reports[0]
	if first.Shard == nil && len(reports) == 1 {
		return first, nil
	}
	merged := &Report{Format: Format, Corpus: first.Corpus}
	seen := map[int]bool{}
	var faults []string
	for _, r := range reports {
		if err := belongs(first, r, seen); err != nil {
			return nil, err
		}
		seen[r.Shard.Index] = true
		merged.Traces = append(merged.Traces, r.Traces...)
		merged.Sessions = append(merged.Sessions, r.Sessions...)
		if r.Error != "" {
			faults = append(faults, fmt.Sprintf("shard %s: %s", r.Shard, r.Error))
		}
	}
	slices.SortStableFunc(merged.Traces, func(a, b *TraceReport) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortStableFunc(merged.Sessions, func(a, b *SessionsReport) int { return cmp.Compare(a.Number, b.Number) })
	if err := merged.recount(); err != nil {
		return nil, err
	}
	slices.Sort(faults)
	return merged, merged.complete(first.Shard.Count, seen, faults)
}

// belongs returns an error if a report cannot be merged with the first report and the shards seen
// so far.
func belongs(first, r *Report, seen map[int]bool) error {
	switch {
	case r.Format != Format:
		return fmt.Errorf("replay: a report has the format %d: this version merges %d", r.Format, Format)
	case r.Shard == nil || first.Shard == nil:
		return errors.New("replay: a report is on no shard but on a whole corpus: there is nothing to merge it with")
	case r.Shard.check() != nil:
		return r.Shard.check()
	case r.Shard.Count != first.Shard.Count:
		return fmt.Errorf("replay: shards %s and %s are not of one cut: verify all with the same count", first.Shard, r.Shard)
	case r.Corpus != first.Corpus:
		return fmt.Errorf("replay: shards %s and %s are of other lists of traces (%s and %s): verify all with the same arguments, from the same files",
			first.Shard, r.Shard, first.Corpus, r.Corpus)
	case seen[r.Shard.Index]:
		return fmt.Errorf("replay: shard %s has two reports", r.Shard)
	}
	return nil
}

// String returns the number of traces and the beginning of the digest.
func (c Corpus) String() string { return fmt.Sprintf("%d traces, %.12s", c.Traces, c.SHA256) }

// complete sets Error, and returns an error, if a merged report does not cover the whole corpus.
func (r *Report) complete(count int, seen map[int]bool, faults []string) error {
	missing := &MissingShards{Count: count}
	for index := 1; index <= count; index++ {
		if !seen[index] {
			missing.Missing = append(missing.Missing, index)
		}
	}
	var err error
	if len(missing.Missing) > 0 {
		err = missing
		faults = append(faults, safetext.WithoutPackage(missing).Error())
	} else if len(faults) == 0 && len(r.Traces) < r.Corpus.Traces {
		err = fmt.Errorf("replay: the shards are all there, and have %d of the corpus' %d traces", len(r.Traces), r.Corpus.Traces)
		faults = append(faults, safetext.WithoutPackage(err).Error())
	}
	r.Error = strings.Join(faults, "; ")
	return err
}
