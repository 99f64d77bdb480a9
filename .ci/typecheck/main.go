// Typecheck checks the types of the packages that its arguments name, and of all that they
// import, for another system: typecheck darwin/arm64 ./cmd/troupe. A build would compile
// everything once more, for minutes, to find the same mistakes.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := check(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

func check(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want a system such as darwin/arm64, and packages")
	}
	system, arch, ok := strings.Cut(args[0], "/")
	if !ok {
		return fmt.Errorf("%q is no system: want one such as darwin/arm64", args[0])
	}
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Env:  append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
	}, args[1:]...)
	if err != nil {
		return fmt.Errorf("load the packages for %s: %w", args[0], err)
	}
	if n := packages.PrintErrors(all); n > 0 {
		return fmt.Errorf("%d errors for %s", n, args[0])
	}
	return nil
}
