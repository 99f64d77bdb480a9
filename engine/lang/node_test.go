package lang

import (
	"encoding/json"
	"reflect"
	"testing"
)

// asSent is a node as encoding/json gives it.
func asSent(n *Node) any {
	switch n.Kind {
	case 'n':
		return nil
	case 't', 'f':
		return n.Kind == 't'
	case '"':
		return n.Text
	case '0':
		return n.Number
	case '[':
		list := []any{}
		for _, c := range n.Elements {
			list = append(list, asSent(c))
		}
		return list
	default:
		m := map[string]any{}
		for _, f := range n.Fields {
			m[f.Key] = asSent(f)
		}
		return m
	}
}

func TestNodesAreWhatWasSent(t *testing.T) {
	for _, body := range []string{
		`""`, `"a"`, ` "a" `, `"\""`, `"\\"`, `"a\\"`, `"\u00e4 ä \ud83d\ude00 😀"`, `"a,:[{\"b"`,
		`[]`, `[ "a" , "b\n", "c" ]`, `["","",""]`, `[[["a"]],"b"]`, `[1,-2.5e3,true,false,null]`,
		`{}`, `{"":""}`, `{"a":"b"}`, "{\n\t\"a\" :\r\n \"b\" , \"c\":\"d\"}", `{"a\u0062":"c","\"":"\\"}`, `{"a":{"b":{"c":["d",{"e":"f"}]}},"g":"h"}`,
		`{"a,b":",","c:d":":","[":"]","{":"}"}`,
		`[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,"a",{"b":"c"}]`, // more than are made at a time
	} {
		for range 2 { // a decoder that was used before, too
			n, fault := ReadNode([]byte(body))
			if fault != nil {
				t.Errorf("%s: %+v", body, fault)
				continue
			}
			var want any
			if err := json.Unmarshal([]byte(body), &want); err != nil {
				t.Fatal(err)
			}
			if got := asSent(n); !reflect.DeepEqual(got, want) {
				t.Errorf("%s is read as %#v, want %#v", body, got, want)
			}
			if _, fault := ReadNode([]byte(`{"a":"b`)); fault == nil {
				t.Error("half a request is none")
			}
		}
	}
}
