package database

// What tests ask a database to explain.
const (
	SelectRecords = selectRecords
	SelectLast    = selectLast
)
