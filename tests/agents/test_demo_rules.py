"""The demo model's understanding of sentences: a table of phrasings in many languages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.providers.demo_rules import Overview, Question, Remember, Talk, intents_of

COFFEE = "I like black coffee"


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Remember that I like black coffee", COFFEE),
        ("remember I like black coffee", COFFEE),
        ("Please remember: I like black coffee", COFFEE),
        ("Remember, I like black coffee", COFFEE),
        ("Remember this: I like black coffee", COFFEE),
        ("Can you remember that I like black coffee?", COFFEE),
        ("Could you please remember that I like black coffee, please", COFFEE),
        ("I want you to remember that I like black coffee", COFFEE),
        ("I'd like you to remember that I like black coffee", COFFEE),
        ("Hey Scrubjay, remember that I like black coffee", COFFEE),
        ("Ok, so please remember for me that I like black coffee", COFFEE),
        ("Don't forget that I like black coffee", COFFEE),
        ("don’t forget: I like black coffee", COFFEE),
        ("Make a note that I like black coffee", COFFEE),
        ("Write down that I like black coffee", COFFEE),
        ("Keep in mind that I like black coffee", COFFEE),
        ("note: I like black coffee", COFFEE),
        ("/remember I like black coffee", COFFEE),
        ("I like black coffee, remember that", COFFEE),
        ("I like black coffee. Please remember this!", COFFEE),
        ("REMEMBER THAT I like black coffee", COFFEE),
        ("Remember to buy milk", "buy milk"),
        ("Remember total costs are 5", "total costs are 5"),
        ("Merk dir, dass ich schwarzen Kaffee mag", "ich schwarzen Kaffee mag"),
        ("Merk dir bitte, dass ich schwarzen Kaffee mag", "ich schwarzen Kaffee mag"),
        ("Bitte merke dir: Rex ist ein Hund", "Rex ist ein Hund"),
        ("Kannst du dir merken, dass Rex ein Hund ist?", "Rex ein Hund ist"),
        ("Vergiss nicht, dass Rex ein Hund ist", "Rex ein Hund ist"),
        ("Denk daran, dass Rex ein Hund ist", "Rex ein Hund ist"),
        ("Souviens-toi que j'aime le café noir", "j'aime le café noir"),
        ("N'oublie pas que Rex est un chien", "Rex est un chien"),
        ("Retiens qu'il aime le thé", "il aime le thé"),
        ("Recuerda que me gusta el café solo", "me gusta el café solo"),
        ("Por favor, acuérdate de que Rex es un perro", "Rex es un perro"),
        ("No olvides que Rex es un perro", "Rex es un perro"),
        ("Ricordati che mi piace il caffè", "mi piace il caffè"),
        ("Lembre-se de que gosto de café", "gosto de café"),
        ("Onthoud dat ik van koffie houd", "ik van koffie houd"),
        ("Kom ihåg att jag gillar kaffe", "jag gillar kaffe"),
        ("Zapamiętaj, że lubię kawę", "lubię kawę"),
        ("Запомни, что я люблю чёрный кофе", "я люблю чёрный кофе"),
        ("Запомни, пожалуйста: я люблю кофе", "я люблю кофе"),
        ("Не забудь, что Рекс собака", "Рекс собака"),
        ("Запам'ятай, що я люблю каву", "я люблю каву"),
        ("Sade kahve sevdiğimi unutma", "Sade kahve sevdiğimi"),
        ("تذكر أن قهوتي سوداء", "قهوتي سوداء"),
        ("याद रखो कि मुझे कॉफ़ी पसंद है", "मुझे कॉफ़ी पसंद है"),
        ("记住我喜欢黑咖啡", "我喜欢黑咖啡"),
        ("请帮我记住：我喜欢黑咖啡", "我喜欢黑咖啡"),
        ("請記住，我喜歡黑咖啡", "我喜歡黑咖啡"),
        ("别忘了明天开会", "明天开会"),
        ("私はブラックコーヒーが好きだと覚えておいて", "私はブラックコーヒーが好きだ"),
        ("覚えておいてください：犬の名前はレックス", "犬の名前はレックス"),
        ("내 이름은 킴이라고 기억해 줘", "내 이름은 킴"),
    ],
)
def test_what_is_to_be_remembered_is_taken_out_of_the_sentence(said: str, fact: str) -> None:
    assert intents_of(said) == (Remember((fact,)),)


@pytest.mark.parametrize(
    "said", ["Remember", "remember that!", "Please remember this", "Merk dir das", "请记住", "记住这个"]
)
def test_a_wish_to_remember_nothing_is_asked_back(said: str) -> None:
    assert intents_of(said) == (Talk("empty"),)


@pytest.mark.parametrize(
    "said",
    [
        "What coffee do I like?",
        "what coffee do i like",
        "Do you remember what coffee I like?",
        "Remember what I said about coffee?",
        "Remember that time we went to Rome?",
        "Tell me which coffee I like",
        "I like which coffee?",
        "Welchen Kaffee mag ich?",
        "welchen Kaffee mag ich",
        "Quel café est-ce que j'aime ?",
        "¿Qué café me gusta?",
        "Какой кофе я люблю",
        "我喜欢什么咖啡",
        "你记得我喜欢什么咖啡吗？",
        "记得我的生日吗",
        "私の好きなコーヒーは何ですか",
        "ما هي قهوتي؟",
    ],
)
def test_questions_are_looked_up(said: str) -> None:
    assert intents_of(said) == (Question(said),)


def test_a_greeting_before_a_question_is_not_part_of_it() -> None:
    assert intents_of("Hello! What coffee do I like?") == (Question("What coffee do I like?"),)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("hello", "greeting"),
        ("Hi there!", "greeting"),
        ("Good morning, Scrubjay", "greeting"),
        ("hello, how are you?", "greeting"),
        ("Guten Tag", "greeting"),
        ("Hola!", "greeting"),
        ("Привет!", "greeting"),
        ("你好", "greeting"),
        ("こんにちは。", "greeting"),
        ("/start", "greeting"),
        ("Thanks a lot!", "thanks"),
        ("谢谢", "thanks"),
        ("ok", "thanks"),
        ("help", "help"),
        ("What can you do?", "help"),
        ("Was kannst du?", "help"),
        ("你能做什么？", "help"),
        ("Who are you?", "identity"),
        ("Are you a real AI?", "identity"),
        ("which model are you", "identity"),
        ("Wer bist du?", "identity"),
        ("你是谁？", "identity"),
        ("I went to the market", "statement"),
        ("Was a nice day", "statement"),
        ("Save money", "statement"),
        ("🙂", "statement"),
    ],
)
def test_small_talk_is_recognised(said: str, kind: str) -> None:
    assert [intent.kind for intent in intents_of(said) if isinstance(intent, Talk)] == [kind]


@pytest.mark.parametrize(
    "said",
    [
        "What do you know about me?",
        "what do you remember",
        "Who am I?",
        "Show me your notes",
        "Was weißt du über mich?",
    ],
)
def test_the_wish_to_see_everything_is_recognised(said: str) -> None:
    assert intents_of(said) == (Overview(),)


def test_a_list_becomes_a_fact_a_line() -> None:
    assert intents_of("Remember:\n- Rex is a dog\n* Tom is a cat\n2. Ida is a hen") == (
        Remember(("Rex is a dog", "Tom is a cat", "Ida is a hen")),
    )


def test_a_question_behind_a_fact_is_its_own() -> None:
    assert intents_of("Remember that I like tea. And milk. What do I like?") == (
        Remember(("I like tea. And milk.",)),
        Question("What do I like?"),
    )


@pytest.mark.parametrize("said", ["", " \n\t"])
def test_a_blank_text_asks_for_nothing(said: str) -> None:
    assert intents_of(said) == ()


def test_a_long_text_is_judged_by_its_beginning_and_its_end() -> None:
    fact = "word " * 5_000 + "end"

    assert intents_of(f"Remember that {fact}") == (Remember((fact,)),)
    assert isinstance(intents_of(f"{fact}, what is it?")[0], Question)
    assert intents_of(fact) == (Talk("statement"),)


@settings(max_examples=150)
@given(st.lists(st.sampled_from(["remember ", "that ", "hi ", "what ", "?", ".", ", ", "\n", "记住", "吗", "- ", "x"])))
def test_every_text_is_understood_as_something_and_no_fact_is_blank(words: list[str]) -> None:
    text = "".join(words)

    intents = intents_of(text)

    assert bool(intents) == bool(text.strip())
    assert all(fact.strip() for intent in intents if isinstance(intent, Remember) for fact in intent.facts)
    assert all(intent.facts for intent in intents if isinstance(intent, Remember))
