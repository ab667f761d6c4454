// Package corpus verifies many traces at once and groups their divergences by cause.
//
//  1. Sources lists the traces of a file system. A Source may be anything that can be opened.
//  2. Verify replays the traces, several concurrently, with the seams that live chooses for each.
//     One change to an agent makes many traces diverge, so the Report lists causes. Each cause has
//     the traces that it affects and the divergence of the first.
//  3. A Shard is a part of the traces, for one of several machines. Merge joins the reports of the
//     shards into the report that a single machine would have made.
//  4. Accept replaces old traces with new ones, with a reason (NewAcceptance), if a change was
//     intended.
//  5. Reports are written for people (String), for CI (JUnit, annotations) and as JSON. References
//     finds the files that no test uses.
package corpus
