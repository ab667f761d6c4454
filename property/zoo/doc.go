// Package zoo holds, in its tests, agents with the kinds of bugs that fill the issue trackers of agent
// frameworks, each together with a corrected twin. The tests require that package explore finds each
// bug and does not accuse the twin, and they print how many schedules that takes.
package zoo
