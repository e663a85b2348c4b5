import { createAttempts } from "ichido/client";
import { fileStorage } from "ichido/client/node";

const attempts = createAttempts({ storage: fileStorage(process.argv[2] ?? ""), nowMs: Date.now });
console.log((await attempts.create("pay", { amount: 100 })).key);
