package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"troupe/engine/browser"
)

type browserCommands struct {
	Install browserInstall `cmd:"" help:"Say how to install a browser on this system, and which ones are there already. Changes nothing."`
	List    browserList    `cmd:"" help:"List the browsers that are found, the one that the service uses first."`
}

type browserInstall struct{}

// Run names the commands and does not run them: they need root, and the packages of a machine
// are its operator's business.
func (browserInstall) Run(w *environment) error {
	found := browser.FindAll()
	if len(found) > 0 {
		if _, err := fmt.Fprintln(w.stdout, "A browser is there. The service uses the first one:"); err != nil {
			return err
		}
		if err := listBrowsers(w.ctx, w.stdout, found); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w.stdout, "\nTo update it, or to install another one:"); err != nil {
			return err
		}
	}
	id, like := osRelease("/etc/os-release")
	steps, known := browser.Install(runtime.GOOS, id, like)
	if runtime.GOOS == "linux" && id == "ubuntu" && runtime.GOARCH != "amd64" { // Google has no package for it
		steps, known = browser.Install("linux", "", "")
	}
	if !known {
		if _, err := fmt.Fprintln(w.stdout, "Install Chromium or Google Chrome from the packages of your system, or with Node.js:"); err != nil {
			return err
		}
	}
	root := ""
	if runtime.GOOS == "linux" && os.Geteuid() != 0 && known {
		root = "sudo "
	}
	for _, s := range steps {
		if strings.HasPrefix(s, "curl ") {
			s = "  " + s
		} else {
			s = "  " + root + s
		}
		if _, err := fmt.Fprintln(w.stdout, s); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w.stdout, "\nThe service also finds Google Chrome, Microsoft Edge, and the folders of Playwright and of Chrome for Testing (npx @puppeteer/browsers install chrome-headless-shell --path ~/.cache/puppeteer). --browser PATH names any other. Then check it: troupe doctor")
	return err
}

type browserList struct{}

func (browserList) Run(w *environment) error {
	found := browser.FindAll()
	if len(found) == 0 {
		return usageError{browser.ErrNoBrowser}
	}
	return listBrowsers(w.ctx, w.stdout, found)
}

func listBrowsers(ctx context.Context, out io.Writer, paths []string) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	for _, p := range paths {
		version, err := browser.Version(ctx, p)
		switch old := browser.Outdated(version); {
		case err != nil:
			version = "does not say its version"
		case old != "":
			version += " (" + old + ")"
		}
		if _, err := fmt.Fprintf(out, "  %s  %s\n", p, version); err != nil {
			return err
		}
	}
	return nil
}

// osRelease reads which system it is, and which it is like.
func osRelease(path string) (id, like string) {
	f, err := os.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		value = strings.Trim(value, `"'`)
		switch name {
		case "ID":
			id = value
		case "ID_LIKE":
			like = value
		}
	}
	return id, like
}
