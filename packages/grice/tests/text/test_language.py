"""Detection of other languages; none for English replies."""

import pytest

from grice.text.language import other_language


@pytest.mark.parametrize(("text", "language"), [
    ("Ihre Bestellung wurde geändert und wird morgen geliefert.", "German"),
    ("Votre commande a été modifiée et sera livrée demain.", "French"),
    ("Su pedido ha sido modificado y será entregado mañana.", "Spanish"),
    ("Goedendag, waarmee kan ik u helpen?", "Dutch"),
    ("Twoje zamówienie zostało zmienione i będzie dostarczone jutro.", "Polish"),
    ("Siparişiniz değiştirildi ve yarın teslim edilecek.", "Turkish"),
])  # fmt: skip
def test_a_sentence_of_a_support_bot_is_told_by_common_words_and_letters(text, language):
    assert other_language(text) == language


@pytest.mark.parametrize("text", [
    "Ok lol", "Gracias!", "My fiancée ordered a crème brûlée at the café in Köln.",
    "I love La La Land and the El Camino film.", "Que sera, sera, as they say.", "naïve résumé", "",
])  # fmt: skip
def test_english_with_foreign_words_stays_english(text):
    assert other_language(text) is None
