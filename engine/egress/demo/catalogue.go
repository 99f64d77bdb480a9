package demo

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
)

// perPage is how many products a page of the list shows.
const perPage = 24

type product struct {
	ID      int          `json:"id"`
	Name    string       `json:"name"`
	Price   string       `json:"price"`
	Cents   int          `json:"cents"`
	Stock   int          `json:"stock"`
	Link    string       `json:"url"`
	About   string       `json:"about"`
	Picture template.URL `json:"-"`
}

// catalogue is every product; the identifier is the place, from 1.
var catalogue = stock()

func stock() []product {
	materials := []struct{ name, colour, about string }{
		{"Oak", "#a9743b", "Solid oak, oiled by hand."},
		{"Linen", "#c9b68c", "Washed linen that grows softer with time."},
		{"Steel", "#6f7f8f", "Brushed steel that does not mind the kitchen."},
		{"Clay", "#b5563c", "Fired clay with a matt glaze."},
		{"Wool", "#7d6b91", "Wool from hill sheep, spun nearby."},
		{"Glass", "#3f8f86", "Blown glass; no two are quite alike."},
	}
	things := []struct {
		name  string
		cents int
	}{
		{"Lamp", 4900}, {"Bowl", 1850}, {"Chair", 12900}, {"Basket", 2400}, {"Clock", 5500},
		{"Mug", 1290}, {"Stool", 6900}, {"Tray", 2150}, {"Vase", 3300}, {"Frame", 1700},
	}
	var all []product
	for t, thing := range things {
		for m, material := range materials {
			p := product{
				ID: len(all) + 1, Name: material.name + " " + thing.name, About: material.about,
				Cents: thing.cents + 350*m, Stock: (7*t + 5*m) % 13,
			}
			p.Price = fmt.Sprintf("€%d.%02d", p.Cents/100, p.Cents%100)
			p.Link = "/product/" + strconv.Itoa(p.ID)
			p.Picture = picture(material.colour, thing.name[:1])
			all = append(all, p)
		}
	}
	return all
}

// picture draws a product: a disc of its colour with a letter.
func picture(colour, letter string) template.URL {
	svg := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80"><rect width="120" height="80" fill="` + colour +
		`" opacity=".25"/><circle cx="60" cy="40" r="26" fill="` + colour +
		`"/><text x="60" y="50" font-family="sans-serif" font-size="28" text-anchor="middle" fill="#fff">` + letter + `</text></svg>`
	return template.URL("data:image/svg+xml," + url.PathEscape(svg))
}

// search returns the products whose name or text has every word of the query.
func search(q string) []product {
	found := []product{}
	for _, p := range catalogue {
		text, all := strings.ToLower(p.Name+" "+p.About), true
		for _, word := range strings.Fields(strings.ToLower(q)) {
			all = all && strings.Contains(text, word)
		}
		if all {
			found = append(found, p)
		}
	}
	return found
}

func listURL(q string, page int) string {
	v := url.Values{}
	if q != "" {
		v.Set("q", q)
	}
	v.Set("page", strconv.Itoa(page))
	return "/?" + v.Encode()
}
