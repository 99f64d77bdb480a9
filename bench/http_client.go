package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// clients are connections that stay open, as those of real clients do. Each
// sends one request after the other.
type clients struct {
	conns []net.Conn
	read  []*bufio.Reader
}

func dialAll(addr string, n int) (*clients, error) {
	c := &clients{}
	for range n {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			c.close()
			return nil, err
		}
		c.conns = append(c.conns, conn)
		c.read = append(c.read, bufio.NewReader(conn))
	}
	return c, nil
}

func (c *clients) close() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// spell makes the bytes of a request.
func spell(method, path, token, body string) []byte {
	var r fasthttp.Request
	r.Header.SetMethod(method)
	r.SetRequestURI("http://bench" + path)
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.SetContentType("application/json")
		r.SetBodyString(body)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := r.Write(w); err != nil {
		panic(err) // it is written to memory
	}
	_ = w.Flush()
	return b.Bytes()
}

// once sends a request on a connection and reads its answer.
func (c *clients) once(i int, request []byte, answer *fasthttp.Response) error {
	if _, err := c.conns[i].Write(request); err != nil {
		return err
	}
	if err := answer.Read(c.read[i]); err != nil {
		return err
	}
	if answer.StatusCode() != fasthttp.StatusOK {
		return fmt.Errorf("answered with %d: %.200s", answer.StatusCode(), answer.Body())
	}
	return nil
}

// hammer lets every connection send the request again and again for a while,
// and returns how long each answer took, in order. Each answer must hold want.
func (c *clients) hammer(request, want []byte, lasts time.Duration) ([]time.Duration, error) {
	took := make([][]time.Duration, len(c.conns))
	errs := make([]error, len(c.conns))
	end := time.Now().Add(lasts)
	var all sync.WaitGroup
	for i := range c.conns {
		all.Go(func() {
			var answer fasthttp.Response
			for at := time.Now(); at.Before(end); {
				if errs[i] = c.once(i, request, &answer); errs[i] != nil {
					return
				}
				now := time.Now()
				took[i] = append(took[i], now.Sub(at))
				if at = now; !bytes.Contains(answer.Body(), want) {
					errs[i] = fmt.Errorf("a wrong answer: %.200s", answer.Body())
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	list := slices.Concat(took...)
	slices.Sort(list)
	return list, nil
}
