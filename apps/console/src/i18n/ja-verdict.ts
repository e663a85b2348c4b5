/** 判定の文。サーバーの文は英語なので、同じ事実から日本語で組み立てる。 */
import type { AskAnswer, AskedKeyView } from "../contract.ts";
import { intentsAbout, keysAbout } from "../intents.ts";
import { clock } from "../time.ts";

function idsOf(answer: AskAnswer): string {
  const ids = keysAbout(answer)
    .flat()
    .flatMap(({ providerIds }) => providerIds);
  return ids.length === 0 ? "" : `（${ids.join("、")}）`;
}

function onceText(answer: AskAnswer): string {
  const keys = keysAbout(answer).flat();
  const replays = keys.reduce((sum, key) => sum + key.replays, 0);
  const runs = Math.max(1, ...keys.map((key) => key.runs));
  const again = replays === 0 ? "" : `その後の ${replays} 件のリクエストには、保存した応答を返しました。`;
  const vanished = keys.reduce((sum, key) => sum + key.vanished, 0);
  const earlier =
    vanished > 0
      ? `途中で消えた試行が ${vanished} 回あり、後の試行が結果を確かめました。`
      : runs > 1
        ? `${runs} 回目の試行で完了しました。`
        : "";
  return `課金は一度だけです${idsOf(answer)}。${again}${earlier}`;
}

function apartText(answer: AskAnswer): string {
  const apart = keysAbout(answer).map((keys) => {
    const charged = keys.filter(({ effects }) => effects.count > 0);
    const times = charged.map(({ createdAt }) => Date.parse(createdAt));
    return `${((Math.max(...times) - Math.min(...times)) / 1_000).toFixed(1)} 秒`;
  });
  return apart.join("、");
}

function sinceText(open: AskedKeyView | undefined): string {
  return open === undefined ? "" : clock(Date.parse(open.createdAt), Date.now());
}

function unknownText(answer: AskAnswer): string {
  const keys = keysAbout(answer).flat();
  const open = keys.find(
    ({ state, effects: { by, count } }) => by === "nobody" || (state === "unknown" && count === 0),
  );
  return open?.effects.nothingFound === true
    ? `${sinceText(open)} から結果不明です。相手に照会しましたが、この参照の取引はまだありません。`
    : `${sinceText(open)} から結果不明で、相手に照会できません。`;
}

function orphanSince(answer: AskAnswer): string {
  const keys = keysAbout(answer).flat();
  return sinceText(keys.find(({ state }) => state !== "completed"));
}

function refunds(answer: AskAnswer, kind: AskAnswer["verdict"]): readonly string[] {
  return intentsAbout(answer, kind).map(({ keys, refund }) =>
    refund.length > 0
      ? `${refund.join("、")} を返金する。`
      : `キー ${keys.join("、")} で余分に課金された分を返金する。`,
  );
}

export const jaVerdict = {
  verdicts: {
    "one-effect": "効果は一度だけです",
    "two-intents": "別々の購入で、それぞれ一度だけです",
    "no-effect": "効果はありませんでした",
    "in-flight": "まだ処理中です",
    "event-once": "イベントの効果は一度だけです",
    "event-dead": "イベントは処理をあきらめた状態です",
    "event-parked": "イベントは次の再試行を待っています",
    "event-replaying": "イベントは再実行を待っています",
    "event-pending": "イベントはまだ送信されていません",
    "event-discarded": "イベントは破棄されました",
    "event-sent": "イベントは送信済みです",
    "two-keys-one-intent": "二重の効果：一つの意図に二つのキー",
    "orphan-effect": "相手は実行済みですが、記録にありません",
    phantom: "記録では完了ですが、相手は知りません",
    "not-known": "結果が分かりません",
    "two-effects-one-key": "一つのキーで効果が二回",
    "nothing-found": "該当するものがありません",
  },
  says: (answer: AskAnswer): string => {
    switch (answer.verdict) {
      case "one-effect":
        return onceText(answer);
      case "two-intents":
        return `内容もキーも別の購入で、それぞれ一度だけ課金されています${idsOf(answer)}。`;
      case "no-effect":
        return "課金されていません。拒否されたか、キーが返却されており、相手は何もしていません。";
      case "in-flight":
        return "処理中です。少し待ってから、もう一度確認してください。";
      case "event-once":
        return "このイベントは、何度届いてもハンドラーごとに一度だけ反映されています。";
      case "event-dead":
        return "このイベントはデッドレターになっており、人の判断を待っています。";
      case "event-parked":
        return "このイベントはまだ処理されておらず、保留中です。自動的に再試行されます。";
      case "event-replaying":
        return "このイベントはデッドレターでしたが、人の判断により、コンシューマーの次の巡回で再実行されます。";
      case "event-pending":
        return "このイベントは Outbox にあり、まだ送信されていません。";
      case "event-discarded":
        return "このイベントはデッドレターになり、人の判断で破棄されたか、別のハンドラーに渡されました。";
      case "event-sent":
        return "このイベントはブローカーに渡されましたが、この Inbox のコンシューマーには記録がありません。";
      case "two-keys-one-intent":
        return `同じ内容が ${apartText(answer)} の間に二つのキーで送られ、それぞれ課金されました${idsOf(answer)}。クライアントがキーを作り直しています。`;
      case "orphan-effect":
        return `相手は実行しています${idsOf(answer)}が、記録は ${orphanSince(answer)} から結果不明のままです。`;
      case "phantom":
        return "記録では完了していますが、相手にはその取引がありません。";
      case "not-known":
        return unknownText(answer);
      case "two-effects-one-key":
        return `一つのキー、一つの参照で二回課金されました${idsOf(answer)}。相手が参照を無視しています。`;
      case "nothing-found":
        return "この名前では何も見つかりません。保持期間を過ぎた可能性もあります。";
    }
  },
  /** `kind`: of the verdict, and of what is to be said beside it. */
  nextSteps: (answer: AskAnswer, kind: AskAnswer["verdict"]): readonly string[] => {
    switch (kind) {
      case "two-keys-one-intent":
        return [
          ...refunds(answer, kind),
          "クライアントでは、ボタンを押した時点のキーを使い続ける（クライアントのガイドを参照）。",
        ];
      case "two-effects-one-key":
        return [...refunds(answer, kind), 'この step の onUnknown を "hold" にする。相手が参照に対応していません。'];
      case "orphan-effect":
        return ["キーを開き、相手の結果を応答として採用する。"];
      case "not-known":
        return ["相手に直接確認してから、キーを開いて採用または解放する。"];
      case "phantom":
        return ["相手側で、取り消しや売上確定の失敗がないか調べる。"];
      case "event-dead":
        return ["Inbox または Outbox でデッドレターを開き、再実行または破棄する。"];
      case "event-parked":
        return ["失敗の理由をコンシューマーのログで調べる。再試行は自動的に行われます。"];
      case "event-replaying":
        return ["この状態が続く場合、そのハンドラーを持つコンシューマーがありません。"];
      case "event-pending":
        return ["Outbox を開き、リレーが動作中か一時停止中か、先にデッドレターがないかを確認する。"];
      case "nothing-found":
        return ["綴りを確認する。保持期間を過ぎた記録は残りません。相手側の ID は probes があれば見つかります。"];
      default:
        return [];
    }
  },
};
