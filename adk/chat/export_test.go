package chat

// OptionNames are the names in the table.
func OptionNames() (names []string) {
	for _, r := range table {
		names = append(names, r.name)
	}
	return names
}
