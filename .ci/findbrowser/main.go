// Command findbrowser prints the browser that the service would use, or fails.
package main

import (
	"fmt"
	"os"

	"troupe/engine/browser"
)

func main() {
	path, err := browser.Find()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}
