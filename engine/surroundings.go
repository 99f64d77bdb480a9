package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // small images have no list of time zones, by which they are checked

	"golang.org/x/text/language"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var (
	colorSchemeShape   = lang.EnumShape("the colors that pages are to have", "light", "dark", "no-preference")
	reducedMotionShape = lang.EnumShape("whether pages are to move little", "reduce", "no-preference")
	permissionShape    = lang.EnumShape("what becomes of a permission", "granted", "denied", "prompt")
)

// permissionNames are the permissions that a task can set. Reading the clipboard is not
// among them: workers may share it.
var permissionNames = []string{
	"background-sync", "camera", "clipboard-write", "geolocation", "idle-detection", "local-fonts", "microphone", "midi",
	"notifications", "persistent-storage", "screen-wake-lock", "storage-access", "window-management",
}

const maxAccuracy = 1e6 // meters: nobody knows less of a place

var geolocationSchema = `{"type":"object","required":["latitude","longitude"],"additionalProperties":false,"properties":{` +
	`"latitude":{"type":"number","minimum":-90,"maximum":90},"longitude":{"type":"number","minimum":-180,"maximum":180},"accuracy":{"type":"number","minimum":0,"maximum":1000000,"default":10}}}`

var permissionsSchema = fmt.Sprintf(`{"anyOf":[{"type":"array","items":{"enum":[%[1]s]}},{"type":"object","propertyNames":{"enum":[%[1]s]},"additionalProperties":%[2]s}]}`,
	`"`+strings.Join(permissionNames, `","`)+`"`, permissionShape.Schema)

// surroundingFields are the fields of config that say what pages find around them.
func (d *decoder) surroundingFields(s *browser.Surroundings) []lang.Member {
	return []lang.Member{
		lang.Field("device", func(f *lang.Node) { s.Device = d.readDevice(f) }),
		lang.Field("locale", func(f *lang.Node) { s.Locale = d.readLocale(f) }),
		lang.Field("timezone", func(f *lang.Node) { s.Timezone = d.readTimezone(f) }),
		lang.Field("geolocation", func(f *lang.Node) { s.Geolocation = d.readGeolocation(f) }),
		lang.Field("colorScheme", func(f *lang.Node) { s.ColorScheme = colorSchemeShape.Read(&d.Decoder, f) }),
		lang.Field("reducedMotion", func(f *lang.Node) { s.ReducedMotion = reducedMotionShape.Read(&d.Decoder, f) }),
		lang.Field("permissions", func(f *lang.Node) { s.Permissions = d.readPermissions(f) }),
		lang.Field("javascript", func(f *lang.Node) {
			on := lang.BoolShape.Read(&d.Decoder, f)
			s.JavaScript = &on
		}),
	}
}

// surroundingSchemas are the same fields for programs.
func surroundingSchemas() object {
	return object{
		{"device", optional(deviceSchema, "The screen that pages find: the name of a device such as iPhone 15, or its numbers. Default: 1280 × 720 pixels.")},
		{"locale", optional(`{"type":"string","minLength":2}`, "The language of pages, such as de-DE. Default: the browser's.")},
		{"timezone", optional(`{"type":"string","minLength":1}`, "The time zone of pages, such as Europe/Berlin. Default: the machine's.")},
		{"geolocation", optional(geolocationSchema, "The place that pages are told, and may ask for. Default: none.")},
		{"colorScheme", optional(colorSchemeShape.Schema, "The colors that pages are to prefer. Default: light.")},
		{"reducedMotion", optional(reducedMotionShape.Schema, "Whether pages are to move little. Default: no-preference.")},
		{"permissions", optional(permissionsSchema, "What pages may do: names that are granted, or an object with granted, denied or prompt for each.")},
		{"javascript", optional(lang.BoolShape.Schema, "Whether scripts of pages run.", entry{"default", true})},
	}
}

func (d *decoder) readLocale(n *lang.Node) string {
	s, ok := d.ReadString(n, "a locale such as de-DE")
	if !ok {
		return ""
	}
	tag, err := language.Parse(s)
	if err != nil || s == "" || tag == language.Und {
		d.Fault(n, "want a locale such as de-DE or fr, not %q", lang.Short(s, 100))
		return ""
	}
	return tag.String()
}

func (d *decoder) readTimezone(n *lang.Node) string {
	s, ok := d.ReadString(n, "a time zone such as Europe/Berlin")
	if !ok {
		return ""
	}
	if _, err := time.LoadLocation(s); err != nil || s == "" || s == "Local" {
		d.Fault(n, "there is no time zone %q: want a name such as Europe/Berlin or UTC", lang.Short(s, 100))
		return ""
	}
	return s
}

func (d *decoder) readGeolocation(n *lang.Node) *browser.Geolocation {
	g := &browser.Geolocation{Accuracy: 10}
	if !d.ReadObject(n, "geolocation",
		lang.Field("latitude", func(f *lang.Node) { g.Latitude = lang.NumberShape("a latitude", -90, 90).Read(&d.Decoder, f) }),
		lang.Field("longitude", func(f *lang.Node) {
			g.Longitude = lang.NumberShape("a longitude", -180, 180).Read(&d.Decoder, f)
		}),
		lang.Field("accuracy", func(f *lang.Node) {
			g.Accuracy = lang.NumberShape("an accuracy in meters", 0, maxAccuracy).Read(&d.Decoder, f)
		}),
	) {
		return nil
	}
	for _, name := range []string{"latitude", "longitude"} {
		if f := n.Field(name); f == nil || f.IsNull() {
			d.Fault(n, "geolocation needs %s, a number of degrees", name)
		}
	}
	return g
}

// readPermissions reads names that are granted, or what becomes of each name.
func (d *decoder) readPermissions(n *lang.Node) map[string]string {
	all := map[string]string{}
	known := func(f *lang.Node, name string) bool {
		if slices.Contains(permissionNames, name) {
			return true
		}
		d.Fault(f, "there is no permission %q: want one of %s%s", lang.Short(name, 100), strings.Join(permissionNames, ", "), d.DidYouMean(name, func() []string { return permissionNames }))
		return false
	}
	switch {
	case n.IsArray():
		for _, e := range n.Elements {
			if name, ok := d.ReadString(e, "the name of a permission"); ok && known(e, name) {
				all[name] = "granted"
			}
		}
	case n.IsObject():
		for _, f := range n.Fields {
			if known(f, f.Key) && !f.IsNull() {
				all[f.Key] = permissionShape.Read(&d.Decoder, f)
			}
		}
	default:
		d.Fault(n, `want permissions, an array such as ["geolocation"] or an object such as {"notifications":"denied"}, not %s`, n.TypeName())
	}
	return all
}

// surroundedBy is what pages find when a further request of a session says more: what it
// leaves out stays. It is nil where neither says anything.
func surroundedBy(before *browser.Surroundings, more browser.Surroundings) *browser.Surroundings {
	all := more
	if before != nil {
		all = *before
	}
	if more.Device != nil {
		all.Device = more.Device
	}
	if more.Locale != "" {
		all.Locale = more.Locale
	}
	if more.Timezone != "" {
		all.Timezone = more.Timezone
	}
	if more.Geolocation != nil {
		all.Geolocation = more.Geolocation
	}
	if more.ColorScheme != "" {
		all.ColorScheme = more.ColorScheme
	}
	if more.ReducedMotion != "" {
		all.ReducedMotion = more.ReducedMotion
	}
	if more.JavaScript != nil {
		all.JavaScript = more.JavaScript
	}
	if len(more.Permissions) > 0 {
		all.Permissions = maps.Clone(all.Permissions)
		if all.Permissions == nil {
			all.Permissions = map[string]string{}
		}
		maps.Copy(all.Permissions, more.Permissions)
	}
	if _, said := all.Permissions["geolocation"]; all.Geolocation != nil && !said {
		all.Permissions = maps.Clone(all.Permissions)
		if all.Permissions == nil {
			all.Permissions = map[string]string{}
		}
		all.Permissions["geolocation"] = "granted" // else nobody gives a place for
	}
	return &all
}

// surrounds reports whether a request says anything of them.
func surrounds(s browser.Surroundings) bool { return !reflect.DeepEqual(s, browser.Surroundings{}) }

// surround gives pages what the request says that they find. In a session that stays
// until a later request says otherwise.
func (r *Run) surround(ctx context.Context) (ok bool) {
	if !surrounds(r.task.Config.around) {
		return true
	}
	before := r.tabs.Surrounded()
	all := surroundedBy(before, r.task.Config.around)
	if reflect.DeepEqual(before, all) {
		return true
	}
	if err := r.tabs.Surround(ctx, all); err != nil {
		if ctx.Err() == nil {
			r.reports.failed(Failure{Code: CodeInternal, Text: "The browser refused a setting of config: " + ErrorText(err)}, true)
		}
		return false
	}
	return true
}
