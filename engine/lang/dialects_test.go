package lang

import (
	"strings"
	"testing"
)

func TestSelectorsOfOtherTools(t *testing.T) {
	for in, want := range map[string]string{
		`text=Sign in`:                         `{"text": "Sign in"}`,
		`text="Sign in"`:                       `{"text": "Sign in", "exact": true}`,
		`role=button`:                          `{"role": "button"}`,
		`role=button[name="Save as"]`:          `{"role": "button", "name": "Save as"}`,
		`css=.a > b`:                           `".a > b"`,
		`xpath=//a[@href]`:                     `"//a[@href]"`,
		`id=main-1`:                            `"#main-1"`,
		`data-testid=x`:                        `{"testId": "x"}`,
		`#list >> li.on`:                       `{"selector": "li.on", "within": "#list"}`,
		`button:has-text("Sign in")`:           `{"selector": "button", "hasText": "Sign in"}`,
		`div > a:contains(next page)`:          `{"selector": "div > a", "hasText": "next page"}`,
		`:text('Don"t')`:                       `{"text": "Don\"t"}`,
		`*:contains("x")`:                      `{"text": "x"}`,
		`.row:visible`:                         `{"selector": ".row", "visible": true}`,
		`.row:hidden`:                          `{"selector": ".row", "visible": false}`,
		`.row:eq(2)`:                           `{"selector": ".row", "nth": 2}`,
		`li:first`:                             `{"selector": "li", "nth": 0}`,
		`li:last`:                              `{"selector": "li", "nth": -1}`,
		`tr:has-text("a") td:has-text("b")`:    `an object with "hasText"`,
		`a >> b >> c`:                          `an object with "within"`,
		`li:visible a`:                         `an object with "visible"`,
		`:nth-match(li, 2)`:                    `an object with "nth"`,
		`text=/sign in/i`:                      `{"text": {"regex": "sign in", "flags": "i"}}`,
		`role=button[name=/^Save/]`:            `{"role": "button", "name": {"regex": "^Save"}}`,
		`b:text-matches("a+")`:                 `an object with "hasText": {"regex": …}`,
		`#a`:                                   ``,
		`//div[child::text()='x']`:             ``,
		`.//a[self::text()]`:                   ``,
		`a[title="x >> y"]`:                    ``,
		`a[title='text=x']`:                    ``,
		`li:first-child`:                       ``,
		`li:last-of-type > a:hover`:            ``,
		`p::first-line`:                        ``,
		`[data-x=":visible"]`:                  ``,
		`li:nth-child(2n+1 of .on):not(.off)`:  ``,
		`a[href*="?a=1:contains(x)"]`:          ``,
		`div:has(> a[href="text=1"])`:          ``,
		strings.Repeat(`a:visible:eq(1)`, 500): `an object with "visible"`,
	} {
		got := InsteadOf(in)
		if got != want {
			t.Errorf("%.80s: %s, want %s", in, got, want)
		}
		if !strings.HasPrefix(got, "{") && !strings.HasPrefix(got, `"`) {
			continue
		}
		if _, faults := readSelector(t, got); len(faults) > 0 { // what is proposed can be sent so
			t.Errorf("%s: %q", got, faults)
		}
	}
}
