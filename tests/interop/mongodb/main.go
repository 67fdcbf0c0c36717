// A database with MongoDB's protocol for free5GC's functions: FerretDB over SQLite.
//
//	mongodb ADDRESS FOLDER
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: mongodb ADDRESS FOLDER")
	}
	database, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: os.Args[1]},
		Handler:   "sqlite",
		SQLiteURL: "file:" + os.Args[2] + "/",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := database.Run(ctx); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
