package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// found returns the properties of a module: the tests that draw random values. It builds the tests
// of each package that has one into bin.
func found(ctx context.Context, module, bin string) (all []*property, err error) {
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}\t{{.ImportPath}}", "./...")
	list.Dir = module
	packages, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(packages)) {
		dir, pkg, _ := strings.Cut(strings.TrimSpace(line), "\t")
		names, err := drawing(dir)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			continue
		}
		binary := filepath.Join(bin, strings.ReplaceAll(pkg, "/", "-")+".test")
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, ".")
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", pkg, err, out)
		}
		for _, name := range names {
			all = append(all, &property{dir: dir, pkg: pkg, name: name, binary: binary})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is no test that draws at random")
	}
	return all, nil
}

// drawing returns the sorted names of the tests in a folder that draw: those that call rapid.Check
// or turntest.CheckTurns with their own t, or another function of the folder's tests that does.
func drawing(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	funcs, draws := map[string]*ast.FuncDecl{}, map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil {
				funcs[f.Name.Name] = f
			}
		}
	}
	for before := -1; before < len(draws); {
		before = len(draws)
		for name, f := range funcs {
			if calls(f, draws) {
				draws[name] = true
			}
		}
	}
	for name := range draws {
		if strings.HasPrefix(name, "Test") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// checks are the functions that draw for the test that is passed to them, with their packages.
var checks = map[string]string{"Check": "rapid", "CheckTurns": "turntest"}

// calls reports whether a function calls one of checks for its own test, or a function in draws.
func calls(f *ast.FuncDecl, draws map[string]bool) (found bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch called := call.Fun.(type) {
		case *ast.Ident:
			found = found || draws[called.Name]
		case *ast.SelectorExpr:
			of, _ := called.X.(*ast.Ident)
			by, _ := slices.Concat(call.Args, []ast.Expr{nil})[0].(*ast.Ident)
			found = found || of != nil && checks[called.Sel.Name] == of.Name && by != nil && by.Name == "t"
		}
		return true
	})
	return found
}

// checked runs a property with a number of checks from a seed. A failing case is kept.
func checked(ctx context.Context, p *property, seed uint64, checks int) (output string, held bool) {
	test := exec.CommandContext(ctx, p.binary, "-test.run", "^"+p.name+"$", "-test.timeout", "10m",
		fmt.Sprintf("-rapid.seed=%d", seed), fmt.Sprintf("-rapid.checks=%d", checks), "-rapid.nofailfile=false")
	test.Dir = p.dir
	out, err := test.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("no tests to run")) {
		return "there is no such test", false
	}
	return strings.TrimSpace(string(out)), err == nil
}
