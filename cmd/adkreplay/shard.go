package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

const shardHelp = `
With --shard i/n it verifies one of n parts, of about the same size in bytes each:
every machine cuts the same parts, as long as it is given the same files by the
same names. Keep each part's report with --json, and put them together with
adkreplay merge. Nothing but --shard makes a part of it: --shard auto takes i and n
from the environment variables that are set there, and --shard /n takes only i from
them:
  ADKREPLAY_SHARD                                       i/n
  CI_NODE_INDEX, CI_NODE_TOTAL                          GitLab CI, from 1
  CIRCLE_NODE_INDEX, CIRCLE_NODE_TOTAL                  CircleCI, from 0
  BUILDKITE_PARALLEL_JOB, BUILDKITE_PARALLEL_JOB_COUNT  Buildkite, from 0
  JOB_COMPLETION_INDEX                                  Kubernetes indexed Job,
                                                        from 0: give --shard /n
Variables that contradict each other are wrong usage.
`

// variables are the environment variables with which a CI system tells parallel jobs apart.
type variables struct {
	index, count string
	from         int // the first index
}

// ownVariable holds i/n, for systems that have no variables of their own.
const ownVariable = "ADKREPLAY_SHARD"

var systems = []variables{
	{"CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
	{"CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
	{"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
	{"JOB_COMPLETION_INDEX", "", 0},
}

// chooseShard parses the value of --shard. It uses the environment only if the flag says so.
// Otherwise a command that should verify everything could succeed after verifying a part.
func chooseShard(flag string, env func(string) string) (corpus.Shard, error) {
	count, isCount := strings.CutPrefix(flag, "/")
	switch {
	case flag == "":
		return corpus.Shard{}, nil
	case flag == "auto":
		return shardOfEnvironment(0, env)
	case isCount:
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return corpus.Shard{}, fmt.Errorf("--shard %s: give how many shards there are behind the slash", flag)
		}
		return shardOfEnvironment(n, env)
	}
	s, err := corpus.ParseShard(flag)
	if err != nil {
		return s, fmt.Errorf("--shard %w", safetext.WithoutPackage(err))
	}
	return s, nil
}

// found is a shard, and the variable that gives it.
type found struct {
	shard    corpus.Shard
	variable string
}

// shardOfEnvironment returns the shard on which all variables agree. n is the number of shards, or
// 0 if it was not given.
func shardOfEnvironment(n int, env func(string) string) (corpus.Shard, error) {
	all, err := ownShard(env)
	if err != nil {
		return corpus.Shard{}, err
	}
	whole := false
	for _, v := range systems {
		if env(v.index) == "" {
			// GitLab sets the count to 1 for a job that is not parallel, and sets no index.
			whole = whole || v.count != "" && env(v.count) == "1"
			if v.count != "" && env(v.count) != "" && env(v.count) != "1" {
				return corpus.Shard{}, fmt.Errorf("%s is %q and %s is not set: give --shard i/n", v.count, env(v.count), v.index)
			}
			continue
		}
		s, err := v.shard(n, env)
		if err != nil {
			return s, err
		}
		all = append(all, found{s, v.index})
	}
	switch {
	case len(all) == 0 && whole && n <= 1:
		return corpus.Shard{Index: 1, Count: 1}, nil
	case len(all) == 0:
		return corpus.Shard{}, errors.New("--shard found none of the environment variables that say which shard this is: give i/n")
	}
	for _, f := range all {
		if f.shard != all[0].shard {
			return f.shard, fmt.Errorf("%s says shard %s and %s says %s: give --shard i/n", all[0].variable, all[0].shard, f.variable, f.shard)
		}
		if n != 0 && f.shard.Count != n {
			return f.shard, fmt.Errorf("--shard /%d: %s says shard %s", n, f.variable, f.shard)
		}
	}
	return all[0].shard, nil
}

func ownShard(env func(string) string) ([]found, error) {
	text := env(ownVariable)
	if text == "" {
		return nil, nil
	}
	s, err := corpus.ParseShard(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ownVariable, safetext.WithoutPackage(err))
	}
	return []found{{s, ownVariable}}, nil
}

// shard returns the shard that the variables of one system give.
func (v variables) shard(n int, env func(string) string) (corpus.Shard, error) {
	index, err := strconv.Atoi(env(v.index))
	if err != nil || index < v.from {
		return corpus.Shard{}, fmt.Errorf("%s is %q: it should be a number, from %d on", v.index, env(v.index), v.from)
	}
	count := strconv.Itoa(n)
	if v.count != "" {
		count = env(v.count)
	}
	switch {
	case count == "":
		return corpus.Shard{}, fmt.Errorf("%s is set and %s is not: give --shard i/n", v.index, v.count)
	case count == "0" && v.count == "":
		return corpus.Shard{}, fmt.Errorf("%s says which shard this is, and nothing how many there are: give --shard /n", v.index)
	}
	s, err := corpus.ParseShard(fmt.Sprintf("%d/%s", index+1-v.from, count))
	if err != nil {
		return s, fmt.Errorf("%s is %q of %s, counted from %d: there is no such shard", v.index, env(v.index), count, v.from)
	}
	return s, nil
}
