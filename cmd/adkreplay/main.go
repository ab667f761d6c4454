// Command adkreplay verifies, shows and makes traces of agent turns.
package main

import "os"

func main() {
	bound()
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}
